// Package markup defuses what a renderer would run or load: scripts, event
// handlers, script and data URLs, and images whose address carries data out.
//
// The text stays readable: names and schemes are changed so that nothing
// fires. HTML is treated as HTML only when the content type or the text's
// beginning says so, and Markdown code is left alone: an agent that reads
// source code must see it as it is.
package markup
