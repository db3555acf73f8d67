// Package config reads the settings of sidecar serve: flags beat environment, environment beats the YAML file, the file beats the defaults.
// An unknown key is an error, since a misspelled setting could weaken security unseen.
package config
