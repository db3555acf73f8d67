package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"
)

//go:embed dist
var dist embed.FS

// file is one asset, plain and compressed.
type file struct {
	mediaType    string
	plain, small []byte
}

// pages is the built user interface: one page for every address, and the hashed files it names.
type pages struct {
	index  file
	assets map[string]file
}

func loadPages(from fs.FS) (*pages, error) {
	p := &pages{assets: map[string]file{}}
	types := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8"}
	err := fs.WalkDir(from, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f := file{mediaType: types[path.Ext(name)]}
		if f.mediaType == "" {
			return fmt.Errorf("%s has no known type", name)
		}
		if f.plain, err = fs.ReadFile(from, name); err != nil {
			return err
		}
		if f.small, err = compress(f.plain); err != nil {
			return err
		}
		if name == "dist/index.html" {
			p.index = f
		} else {
			p.assets[path.Base(name)] = f
		}
		return nil
	})
	if err == nil && p.index.plain == nil {
		err = fmt.Errorf("dist/index.html is missing: run web/build.sh")
	}
	return p, err
}

func compress(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// page serves the one page. It holds no data; without a login it is a 401 that shows how to sign in.
func (c *Console) page(g *gin.Context) {
	status := http.StatusOK
	if _, in := g.Get(callerKey); !in && g.FullPath() != "/login" {
		status = http.StatusUnauthorized
		g.Header("WWW-Authenticate", `Bearer realm="ostiary"`)
	}
	serve(g, status, c.pages.index)
}

func (c *Console) asset(g *gin.Context) {
	f, ok := c.pages.assets[g.Param("name")]
	if !ok {
		c.fail(g, notFound())
		return
	}
	g.Header("Cache-Control", "public, max-age=31536000, immutable") // the name changes with the content
	serve(g, http.StatusOK, f)
}

func serve(g *gin.Context, status int, f file) {
	g.Header("Vary", "Accept-Encoding")
	if strings.Contains(g.GetHeader("Accept-Encoding"), "gzip") {
		g.Header("Content-Encoding", "gzip")
		put(g, status, f.mediaType, f.small)
		return
	}
	put(g, status, f.mediaType, f.plain)
}
