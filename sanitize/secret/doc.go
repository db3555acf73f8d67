// Package secret finds credentials: tokens of known providers, private keys,
// authorization headers, cookies, signed URLs, connection strings and
// high-entropy values assigned to telling names.
//
// Rules are data. gitleaks.json is made by gen from the rules of gitleaks (see
// gitleaks.LICENSE), own.json is ours. One pass over the text looks each
// four-byte window up in a bitmap of keyword starts; only where a keyword
// really stands does that rule's regular expression run, on a bounded window,
// and then its entropy bound and allowlists.
package secret
