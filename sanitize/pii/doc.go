// Package pii finds what identifies a person by its form: e-mail addresses,
// phone numbers, cards, bank accounts, network addresses and national numbers.
//
// Each type rests on a check digit, a fixed layout, or a word before it that
// says what the number is; a run of digits alone is never enough. One pass
// over the text stops at '@', at digits and at colons between hex digits.
package pii
