// Package plan is the life of a plan: what was previewed, who decided, whether it may run, and
// that it runs once.
//
// It guarantees that a token passes [Store.Begin] only while its plan is open, unexpired, approved
// where a person must approve, and given back with the statement and params it was previewed with;
// that of any number of concurrent Begins one succeeds; that a rejection is final and an end is an
// end; and that waiting ([Store.Await]) costs a channel, no polling and no connection. Memory is
// bounded: open plans by Options.MaxOpen, ended ones are remembered in a few dozen bytes each.
//
// It must never touch a database, never see a connection, and never decide whether a person is
// needed: that comes in with [Store.Create] and no later call can take it away.
//
// # The machine
//
//	            Create                                 Create
//	       (needs no person)                       (needs a person)
//	              │                                       │
//	              ▼                                       ▼
//	         ┌───────────┐                       ┌───────────────────┐
//	┌────────│ previewed │                       │ awaiting_approval │────────┐
//	│        └───────────┘                       └───────────────────┘        │
//	│          │      ▲                               Approve │               │
//	│    Begin │      │ Fail                                  ▼               │
//	│          ▼      │                                  ┌──────────┐         │
//	│        ┌───────────┐ ◀───────── Begin ──────────── │ approved │─────────┤
//	│        │ executing │ ────────── Fail ────────────▶ └──────────┘         │
//	│        └───────────┘                                    ▲               │
//	│  Confirm │ Stop │ Unknown                               │               │
//	│     ┌────┘      │     └────────────┐                    │               │
//	│     ▼           ▼                  ▼                    │               │
//	│ ┌──────────┐ ┌─────────┐ ┌─────────────────┐  Settle(false): back to    │
//	│ │ executed │ │ stopped │ │ outcome_unknown │──▶ the state before        │
//	│ └──────────┘ └─────────┘ └─────────────────┘                            │
//	│     ▲                      │ Settle(true)                               │
//	│     └──────────────────────┘                                            │
//	│                                                                         │
//	└──────────┬─── from previewed, awaiting_approval and approved ───┬───────┘
//	    Reject │                     time │         Create, same text │ but other rows
//	           ▼                          ▼                           ▼
//	     ┌──────────┐               ┌─────────┐                ┌────────────┐
//	     │ rejected │               │ expired │                │ superseded │
//	     └──────────┘               └─────────┘                └────────────┘
//
// Cell by cell ("·" changes nothing; the codes are refusals; "=" is success without a change):
//
//	state              Create, equal   Create, other rows  Approve             Reject              Begin               time
//	previewed          joins, renewed  superseded, new     =                   rejected            executing           expired
//	awaiting_approval  joins, renewed  superseded, new     approved            rejected            AWAITING_APPROVAL   expired
//	approved           joins           superseded, new     =                   rejected            executing           expired
//	executing          new plan        new plan            ALREADY_EXECUTING   ALREADY_EXECUTING   ALREADY_EXECUTING   ·
//	executed           new plan        new plan            USED_TOKEN          USED_TOKEN          USED_TOKEN          ·
//	rejected           new, Earlier    new, Earlier        PLAN_REJECTED       =                   PLAN_REJECTED       ·
//	superseded         new plan        new plan            SUPERSEDED_PLAN     SUPERSEDED_PLAN     SUPERSEDED_PLAN     ·
//	expired            new plan        new plan            EXPIRED_TOKEN       EXPIRED_TOKEN       EXPIRED_TOKEN       ·
//	stopped            new plan        new plan            the stop's code     the stop's code     the stop's code     ·
//	outcome_unknown    new plan        new plan            OUTCOME_UNKNOWN     OUTCOME_UNKNOWN     OUTCOME_UNKNOWN     ·
//	(no such token)    new plan        new plan            UNKNOWN_TOKEN       UNKNOWN_TOKEN       UNKNOWN_TOKEN       ·
//
//	state              Confirm    Fail                       Stop      Unknown           Settle(true)  Settle(false)
//	executing          executed   state before, or expired   stopped   outcome_unknown   ·             ·
//	outcome_unknown    ·          ·                          ·         ·                 executed      state before, or expired
//	every other        ·          ·                          ·         ·                 ·             ·
//
// Withdraw stops an open plan (its record could not be written) and changes nothing else. Check asks
// what Begin asks, Decidable what Approve asks, and neither changes anything at all.
//
// TestEveryCell holds all of this. Every change of state becomes visible in one function, (*Store).show.
// Where there is a journal it is on disk before: advance refuses a change that cannot be written down,
// move makes one that is a fact already, and owes the journal what could not be written. Both write, and sync,
// under the store's lock, since what was judged under it must still be true when it becomes visible: a disk
// that hangs holds every call about plans, and the page. Only that a plan expired, that an execution failed and
// that a preview joined waits for no disk. Committing is synced while the transaction holds its rows: a COMMIT
// without its mark on disk could be taken for none that was sent. See TestJournalIsOnDiskFirst.
//
// # After a restart
//
// Plans of a journal answer as they did when they had ended. What was executing is outcome_unknown until
// Settle; what was approved is awaiting_approval; a migration is expired. An open plan is shown to nobody
// and cannot be executed until its statement is given back (Revive) or previewed again (Create). Revive
// is the only way from previewed to awaiting_approval: the limits may have become tighter. See
// TestJournalReplaysEveryState and TestJournalRevivesAPlan.
package plan
