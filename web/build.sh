#!/bin/sh
# build.sh [-check]: installs the exact locked packages, type-checks the console's source and bundles it into web/dist.
# With -check nothing is written: it fails when the committed dist is not what the source gives.
set -eu
cd "$(dirname "$0")/ui"
npm ci --ignore-scripts --no-audit --no-fund --silent
npx --no-install tsc --noEmit
cd ../build
exec env GOWORK=off go run . "$@"
