// Package phases asks policy about what is no call: the tools that an agent may be shown (phase list), and what it concludes (phase
// conclusion).
package phases
