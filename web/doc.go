// Package web is the review console: the page on which people rule on calls, and the API behind it (wire.md §3).
//
// # Who may do what
//
// A caller shows a bearer token or the cookie of a login. A login starts with a one-time code, used once within ten minutes. Only a
// login makes further codes; they and what they open end when it ends: by time, by sign-out, or when its browser signs in anew. An agent's token is refused everywhere (403 role); viewers read;
// reviewers, seniors and admins rule. What a ruling needs beyond that (another person than the requester, the right version, a policy that
// agrees) is the [Desk]'s business.
//
// # What a browser has to show
//
// Approving vouches for what was on the page. A browser session reports what it has shown with POST …/views, and the console remembers
// it for that session, item, version and view digest; an approval without a complete report is refused (428 view_incomplete). A bearer
// client echoes the view digest instead.
//
// # What is masked
//
// The desk hands over items with secrets masked, in the arguments and in what a reviewer made of them. A masked value is sent to the
// person who has revealed it, for a minute, once the desk has recorded that. The exact bytes of a document are sent only while nothing
// of it is masked for who asks.
//
// # Against other pages and processes
//
// Host is compared with an exact allowlist, requests that a browser marks as coming from elsewhere are refused, there is no CORS and no
// GET that changes anything. Bodies are strict JSON. The page runs under a Content-Security-Policy without unsafe-* and with Trusted
// Types, and text of others reaches it only as text nodes. The cookie is __Host-ostiary: Secure, HttpOnly, SameSite=Strict; Chromium and
// Firefox accept Secure cookies on http://127.0.0.1 because loopback is trustworthy. Browsers send a host's cookies to every port of that
// host, so another server of the same machine could see the cookie of someone who visits it; that is why sessions are short and why
// review-ui for a team runs on a host name of its own.
package web

//go:generate sh build.sh
