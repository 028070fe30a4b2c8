// Package refusal is the agent-facing contract for "no": a code, a sentence and a next step.
//
// A refusal is an answer and reaches the agent as it is. Every other error is a fault: it is
// logged to stderr and the agent sees only [InternalError]. The package is a leaf (standard
// library only), so that every other package can speak the same words.
//
// It guarantees that the set of codes is closed: [Codes] lists all of them, and a test compares
// that list with README.md and docs/reference.md.
//
// It must never carry a connection string, a password, a host path, or a driver's raw error.
package refusal

import (
	"errors"
	"fmt"
)

// Code names why something was refused. The values are part of the contract and never change.
type Code string

// Lifecycle of a plan.
const (
	UnknownToken      Code = "UNKNOWN_TOKEN"
	ExpiredToken      Code = "EXPIRED_TOKEN"
	UsedToken         Code = "USED_TOKEN"
	StatementMismatch Code = "STATEMENT_MISMATCH"
	RowsetChanged     Code = "ROWSET_CHANGED"
	PlanRejected      Code = "PLAN_REJECTED"
	AwaitingApproval  Code = "AWAITING_APPROVAL"
	AlreadyExecuting  Code = "ALREADY_EXECUTING"
	OutcomeUnknown    Code = "OUTCOME_UNKNOWN"
	SupersededPlan    Code = "SUPERSEDED_PLAN"
)

// Limits.
const (
	TooManyPlans        Code = "TOO_MANY_PLANS"
	HardMaxRowsExceeded Code = "HARD_MAX_ROWS_EXCEEDED"
	ApprovalUnavailable Code = "APPROVAL_UNAVAILABLE"
	StatementTimeout    Code = "STATEMENT_TIMEOUT"
	LockTimeout         Code = "LOCK_TIMEOUT"
	TooManyWaiting      Code = "TOO_MANY_WAITING"
	TooBusy             Code = "TOO_BUSY"
	MigrationTooLarge   Code = "MIGRATION_TOO_LARGE"
	MigrationBusy       Code = "MIGRATION_BUSY"
	RuleDenied          Code = "RULE_DENIED"
)

// Guard.
const (
	NoWhereClause        Code = "NO_WHERE_CLAUSE"
	TableNotWritable     Code = "TABLE_NOT_WRITABLE"
	TableNotAllowlisted  Code = "TABLE_NOT_ALLOWLISTED"
	InvalidTableName     Code = "INVALID_TABLE_NAME"
	InvalidInput         Code = "INVALID_INPUT"
	InvalidArguments     Code = "INVALID_ARGUMENTS"
	MissingReason        Code = "MISSING_REASON"
	EmptyStatement       Code = "EMPTY_STATEMENT"
	MultiStatement       Code = "MULTI_STATEMENT"
	NotSelect            Code = "NOT_SELECT"
	FunctionNotAllowed   Code = "FUNCTION_NOT_ALLOWED"
	MaskedColumn         Code = "MASKED_COLUMN"
	UnsupportedMigration Code = "UNSUPPORTED_MIGRATION"
)

// Database and server.
const (
	QueryFailed         Code = "QUERY_FAILED"
	ExplainFailed       Code = "EXPLAIN_FAILED"
	WriteFailed         Code = "WRITE_FAILED"
	DatabaseUnavailable Code = "DATABASE_UNAVAILABLE"
	AuditUnavailable    Code = "AUDIT_UNAVAILABLE"
	ToolDisabled        Code = "TOOL_DISABLED"
	InternalError       Code = "INTERNAL_ERROR"
)

// Codes returns every code, in the order of the contract. The slice is the caller's.
func Codes() []Code {
	return []Code{
		UnknownToken, ExpiredToken, UsedToken, StatementMismatch, RowsetChanged, PlanRejected,
		AwaitingApproval, AlreadyExecuting, OutcomeUnknown, SupersededPlan,
		TooManyPlans, HardMaxRowsExceeded, ApprovalUnavailable, StatementTimeout, LockTimeout,
		TooManyWaiting, TooBusy, MigrationTooLarge, MigrationBusy, RuleDenied,
		NoWhereClause, TableNotWritable, TableNotAllowlisted, InvalidTableName, InvalidInput,
		InvalidArguments, MissingReason, EmptyStatement, MultiStatement, NotSelect,
		FunctionNotAllowed, MaskedColumn, UnsupportedMigration,
		QueryFailed, ExplainFailed, WriteFailed, DatabaseUnavailable, AuditUnavailable,
		ToolDisabled, InternalError,
	}
}

// Error is a refusal. Hint is a next step that the agent or the person can take.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Error renders the refusal for logs and tests; agents get the fields.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// New makes a refusal. message is a sentence about what is wrong, hint is what to do next.
func New(code Code, message, hint string) *Error {
	return &Error{Code: code, Message: message, Hint: hint}
}

// As finds the refusal in err's chain.
func As(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// Is reports whether err is a refusal with that code.
func Is(err error, code Code) bool {
	e, ok := As(err)
	return ok && e.Code == code
}
