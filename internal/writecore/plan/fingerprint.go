package plan

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"strings"

	"github.com/jpka/sw-postgres-mcp/internal/refusal"
	"github.com/jpka/sw-postgres-mcp/internal/strictjson"
)

// NewToken draws 128 random bits.
func NewToken() Token {
	var bits [16]byte
	_, _ = rand.Read(bits[:]) // never fails: crypto/rand ends the process instead
	return Token(base64.RawURLEncoding.EncodeToString(bits[:]))
}

// FingerprintOf is the SHA-256 of the payload in canonical form: equal for equal payloads, where
// equal means the same statement apart from white space at its ends, and params that are the same
// values in the same order (contract, "Error codes": key order is free, 1 = 1.0, a number outside
// ±(2^53−1) is its digits as a string; "1" is not 1). Every part goes in with its length in front,
// so that text cannot move from one part to the next.
//
// A param that is not a JSON value is a refusal INVALID_INPUT that says which. See
// FuzzFingerprint, TestS03WhatCommitsIsWhatWasPreviewed.
func FingerprintOf(p Payload) (Fingerprint, error) {
	h := sha256.New()
	part(h, []byte("sw-postgres-mcp plan 1"))
	part(h, []byte(trim(p.Statement)))
	for i, param := range p.Params {
		canonical, err := canonicalParam(param)
		if err != nil {
			return "", badParam(i, err)
		}
		part(h, canonical)
	}
	return Fingerprint(hex.EncodeToString(h.Sum(nil))), nil
}

func part(h hash.Hash, data []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(data)))
	h.Write(size[:])
	h.Write(data)
}

func canonicalParam(param json.RawMessage) ([]byte, error) {
	return strictjson.Canonical(strictjson.SafeNumber(param))
}

// trim takes off what Postgres' scanner takes for white space (manual, 4.1).
func trim(statement string) string { return strings.Trim(statement, " \t\n\r\f\v") }

func badParam(i int, err error) error {
	detail := err.Error()
	if own, ok := errors.AsType[*strictjson.Error](err); ok {
		// The path of a value inside the param goes on where the param's own path ends.
		detail = own.Message
		if own.Path != "" {
			detail = own.Error()
		}
	}
	return refusal.New(refusal.InvalidInput, fmt.Sprintf("params[%d]: %s.", i, detail),
		"Give each param as one JSON value; numbers beyond float64's range as strings.")
}
