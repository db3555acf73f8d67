// Command build bundles web/ui into web/dist, and with -check says whether the committed dist is what the source gives.
//
// It is a module of its own so that the bundler stays out of the product's dependencies. Run it in web/build after npm ci in web/ui:
// build.sh does both.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	check := flag.Bool("check", false, "compare with the committed files instead of writing them")
	ui := flag.String("ui", "../ui", "source `folder`")
	dist := flag.String("dist", "../dist", "output `folder`")
	flag.Parse()
	files, err := bundle(*ui)
	if err == nil && *check {
		err = compare(files, *dist)
	} else if err == nil {
		err = replace(files, *dist)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// bundle returns the files of dist by name.
func bundle(ui string) (map[string][]byte, error) {
	src, err := filepath.Abs(ui)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"src/app.tsx"}, AbsWorkingDir: src, Outdir: filepath.Join(src, "out"), EntryNames: "[name]-[hash]",
		Bundle: true, MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, Charset: api.CharsetUTF8,
		Format: api.FormatESModule, Target: api.ES2022, JSX: api.JSXAutomatic, JSXImportSource: "preact",
		Banner:   map[string]string{"js": "/* With Preact and Preact Signals, (c) 2015-present Jason Miller and others, MIT licence. */"},
		LogLevel: api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return nil, errors.New("the bundle has errors (above)")
	}
	page, err := os.ReadFile(filepath.Join(src, "index.html"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range result.OutputFiles {
		name := filepath.Base(f.Path)
		files[name] = f.Contents
		page = bytes.ReplaceAll(page, []byte("app"+filepath.Ext(name)), []byte(name))
	}
	icon, err := os.ReadFile(filepath.Join(src, "icon.svg"))
	if err != nil {
		return nil, err
	}
	files["icon.svg"], files["index.html"] = icon, page
	return files, nil
}

func replace(files map[string][]byte, dist string) error {
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dist, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compare lists every file that is missing, left over or different.
func compare(files map[string][]byte, dist string) error {
	var differ []string
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dist, name)); err != nil || !bytes.Equal(got, want) {
			differ = append(differ, name)
		}
	}
	err := filepath.WalkDir(dist, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && files[filepath.Base(path)] == nil {
			differ = append(differ, filepath.Base(path))
		}
		return err
	})
	if err == nil && len(differ) > 0 {
		err = fmt.Errorf("web/dist is not what web/ui gives (%s): run web/build.sh and commit the result", strings.Join(differ, ", "))
	}
	return err
}
