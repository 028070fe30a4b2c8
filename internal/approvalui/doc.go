// Package approvalui is the page where a person decides, and the JSON behind it.
//
// It serves 127.0.0.1 only, and there is no option to change that. Every request passes the same
// gates in the same order (gates.go): where it comes from, who asks, then what it asks for. The
// page's secret lives in the memory of this process and of the page; it is written nowhere.
//
// What it guarantees:
//   - A plan is approved only by a POST with a JSON body that passed every gate, names that one
//     plan, and repeats what the card asks to be typed. A malformed request is never an approval.
//   - Nothing that comes from data becomes markup: the HTML here holds no data at all, and the
//     script in static/ makes text nodes only.
//   - No response carries a connection string, a password, a host path or the text of a fault.
//
// What it must never do: decide anything about limits or allowlists (that is the core's), know a
// database, show a plan to a request without the secret, or offer a way to approve more than one
// plan at a time.
package approvalui
