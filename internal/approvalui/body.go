package approvalui

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

// maxBody is the largest body in bytes.
const maxBody = 64 << 10

// readBody reads a JSON object of strings with only the given keys. Anything else is refused:
// unknown and duplicate keys, other types, null, trailing data, other media types. The two
// results are never both set.
func readBody(r *http.Request, keys ...string) (map[string]string, *problem) {
	if !isJSON(r.Header) {
		return nil, &errMediaType
	}
	if r.ContentLength > maxBody {
		return nil, &errTooLarge
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		p := badRequest("The body could not be read.")
		return nil, &p
	}
	if len(raw) > maxBody {
		return nil, &errTooLarge
	}
	out, complaint := decodeObject(raw, keys)
	if complaint != "" {
		p := badRequest(complaint)
		return nil, &p
	}
	return out, nil
}

func isJSON(h http.Header) bool {
	if len(h.Values("Content-Type")) != 1 || h.Get("Content-Encoding") != "" {
		return false
	}
	t, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || t != "application/json" {
		return false
	}
	cs, has := params["charset"]
	return !has || strings.EqualFold(cs, "utf-8")
}

// decodeObject is strict on purpose: what a person is asked to confirm must not depend on which
// of two equal keys a parser prefers. It returns the values, or what is wrong.
func decodeObject(raw []byte, keys []string) (map[string]string, string) {
	const notObject = "The body must be one JSON object."
	if !utf8.Valid(raw) {
		return nil, "The body is not valid UTF-8."
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, notObject
	}
	out := map[string]string{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, notObject
		}
		key, ok := t.(string)
		if !ok {
			return nil, notObject
		}
		known := false
		for _, k := range keys {
			known = known || k == key
		}
		if !known {
			return nil, "The body has a key that is not known here."
		}
		if _, twice := out[key]; twice {
			return nil, "The key " + key + " is given twice." // a known key: one of ours
		}
		v, err := d.Token()
		if err != nil {
			return nil, notObject
		}
		if out[key], ok = v.(string); !ok {
			return nil, "The value of " + key + " must be a string."
		}
	}
	if t, err := d.Token(); err != nil || t != json.Delim('}') {
		return nil, notObject
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, "There is something behind the JSON object."
	}
	return out, ""
}
