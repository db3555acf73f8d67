// Package shipped assembles the detectors that ship.
package shipped
