package rego

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"ostiary"
)

// packLayer begins the names of the shipped packs' directories and layers. The baseline is none of them: it cannot be switched off.
const packLayer = "pack_"

// ShippedPacks lists the packs that can be switched off, without their prefix and sorted.
func ShippedPacks(shipped fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(shipped, ".")
	if err != nil {
		return nil, fmt.Errorf("shipped policies: %w", err)
	}
	var packs []string
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name(), packLayer); ok && e.IsDir() {
			packs = append(packs, name)
		}
	}
	return packs, nil
}

// readShipped reads our own modules: those of the packs that are on, and what is in no pack. A nil list means all.
func (s *Sources) readShipped(shipped fs.FS, on []string) error {
	packs, err := ShippedPacks(shipped)
	if err != nil {
		return err
	}
	for _, name := range on {
		if !slices.Contains(packs, name) {
			return ostiary.Errorf(ostiary.KindConfigInvalid, "there is no policy pack %q", name).
				WithFix("policies.packs takes " + strings.Join(packs, ", "))
		}
	}
	if err := s.readModules(shipped, Shipped); err != nil {
		return err
	}
	for _, name := range packs {
		if on == nil || slices.Contains(on, name) {
			continue
		}
		off := func(file, _ string) bool { return strings.HasPrefix(file, Shipped+"/"+packLayer+name+"/") }
		maps.DeleteFunc(s.Modules, off)
		maps.DeleteFunc(s.Tests, off)
	}
	return nil
}
