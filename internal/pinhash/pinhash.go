// Package pinhash turns the PIN of the approval page into the line that stands in the configuration,
// and checks a PIN against it.
//
// What it guarantees: the line holds an Argon2id hash (RFC 9106) with a salt of its own, in the
// usual notation ($argon2id$v=19$m=…,t=…,p=…$salt$hash); a line whose cost is so low that it
// protects nothing, or so high that checking it would stop the server, is refused; a check takes
// the same time whether the PIN is right or not.
//
// What it must never do: hold a PIN longer than one call, or say anything of it in an error.
package pinhash

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// The bounds of a PIN, in characters. Six digits are a million: enough against guessing on the page,
// where five tries are followed by a pause. Who holds the hash can try at their own pace.
const (
	MinLength = 6
	MaxLength = 100
)

// The cost of new hashes: the second recommendation of RFC 9106, section 4, on one lane. 64 MiB and a few
// tenths of a second for each try.
const (
	memory = 64 << 10 // KiB
	passes = 3
	lanes  = 1
)

const (
	saltBytes = 16
	hashBytes = 32
)

// Hash is a parsed line. The zero value matches nothing.
type Hash struct {
	memory, passes uint32
	lanes          uint8
	salt, sum      []byte
}

// Check says whether a new PIN may be used, without repeating it.
func Check(pin string) error {
	n := utf8.RuneCountInString(pin)
	switch {
	case !utf8.ValidString(pin):
		return errors.New("the PIN is not valid UTF-8")
	case n < MinLength || n > MaxLength:
		return fmt.Errorf("the PIN must have %d to %d characters", MinLength, MaxLength)
	case strings.TrimSpace(pin) != pin:
		return errors.New("the PIN must not begin or end with a space")
	case strings.ContainsFunc(pin, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("the PIN must be made of characters that can be seen")
	}
	if first, _ := utf8.DecodeRuneInString(pin); strings.Count(pin, string(first)) == n {
		return errors.New("the PIN must not be one character repeated")
	}
	return nil
}

// New makes the line for a PIN that [Check] accepts.
func New(pin string) (string, error) {
	if err := Check(pin); err != nil {
		return "", err
	}
	return line(pin, memory, passes, lanes), nil
}

func line(pin string, memory, passes uint32, lanes uint8) string {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	sum := argon2.IDKey([]byte(pin), salt, passes, memory, lanes, hashBytes)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, passes, lanes, b64.EncodeToString(salt), b64.EncodeToString(sum))
}

// Matches says whether pin is the one that the line was made of.
func (h Hash) Matches(pin string) bool {
	if len(h.sum) == 0 {
		return false
	}
	got := argon2.IDKey([]byte(pin), h.salt, h.passes, h.memory, h.lanes, uint32(len(h.sum))) //nolint:gosec // at most 64, see Parse
	return subtle.ConstantTimeCompare(got, h.sum) == 1
}

var errLine = errors.New("it is not a line that `sw-postgres-mcp pin` prints")

// Parse reads a line. The error never holds any of it.
func Parse(text string) (Hash, error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return Hash{}, errLine
	}
	cost := strings.Split(parts[3], ",")
	if len(cost) != 3 {
		return Hash{}, errLine
	}
	var h Hash
	m, err1 := number(cost[0], "m=")
	t, err2 := number(cost[1], "t=")
	p, err3 := number(cost[2], "p=")
	salt, err4 := base64.RawStdEncoding.Strict().DecodeString(parts[4])
	sum, err5 := base64.RawStdEncoding.Strict().DecodeString(parts[5])
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return Hash{}, errLine
	}
	switch {
	case m < 8<<10 || t < 1 || p < 1:
		return Hash{}, errors.New("its cost is too low (at least m=8192)")
	case m > 256<<10 || t > 10 || p > 16:
		return Hash{}, errors.New("its cost is too high (at most m=262144, t=10, p=16)")
	case len(salt) < 8 || len(salt) > 64 || len(sum) < 16 || len(sum) > 64:
		return Hash{}, errLine
	}
	h.memory, h.passes, h.lanes, h.salt, h.sum = uint32(m), uint32(t), uint8(p), salt, sum
	return h, nil
}

func number(text, prefix string) (uint64, error) {
	digits, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return 0, errLine
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || strconv.FormatUint(n, 10) != digits {
		return 0, errLine
	}
	return n, nil
}
