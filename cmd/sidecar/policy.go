package main

import (
	"fmt"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"ostiary"
	"ostiary/decision/rego"
	"ostiary/decision/workbench"
	"ostiary/internal/config"
	"ostiary/internal/term"
)

func policyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "Check, test and try policies before they are in force", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(policyCheckCommand(), policyLintCommand(), policyTestCommand(), policyCoverageCommand(), policyExplainCommand(), policyVerifyCommand(), policyReplayCommand())
	return cmd
}

// policyFlags are common to all subcommands.
type policyFlags struct {
	file string
	cfg  config.Config
	json bool
}

func (f *policyFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.cfg.Policies.Dir, "policies", "", "directory of Rego files added to the shipped packs")
	flags.StringVar(&f.file, "config", "", "configuration file (default $XDG_CONFIG_HOME/ostiary/config.yaml)")
	flags.StringVar(&f.cfg.Posture, "posture", "", "strict or balanced (default strict)")
	flags.BoolVar(&f.json, "json", false, "print one JSON document")
}

// sources says where policies come from, as serve would.
func (f *policyFlags) sources(cmd *cobra.Command) (rego.Config, error) {
	cfg, err := config.Load(f.file, os.Environ(), func(c *config.Config) { overlay(cmd, c, f.cfg) })
	if err != nil {
		return rego.Config{}, err
	}
	if cfg.Policies.Bundle != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "sidecar: the bundle of the configuration is not looked at; give the directory that it is built from with --policies\n")
	}
	return policyConfig(cfg)
}

func (f *policyFlags) open(cmd *cobra.Command) (*workbench.Bench, error) {
	src, err := f.sources(cmd)
	if err != nil {
		return nil, err
	}
	return workbench.Open(src, false)
}

// show prints a report as JSON or by its text, and ends with "no" when it is not ok.
func (f *policyFlags) show(cmd *cobra.Command, report any, ok bool, text func(*term.Out)) error {
	if f.json {
		if err := json.MarshalWrite(cmd.OutOrStdout(), report, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout())
	} else {
		out := term.New(cmd.OutOrStdout())
		text(out)
		if out.Err() != nil {
			return out.Err()
		}
	}
	if !ok {
		return exitCode(exitNo)
	}
	return nil
}

func policyCheckCommand() *cobra.Command {
	var f policyFlags
	var rewrite bool
	cmd := &cobra.Command{Use: "check", Short: "Find every fault for which serve would refuse the policies", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := f.open(cmd)
			if err != nil {
				return err
			}
			if rewrite {
				if err := rewriteAll(b.Formatted()); err != nil {
					return err
				}
				if b, err = f.open(cmd); err != nil {
					return err
				}
			}
			report, err := b.Check()
			if err != nil {
				return err
			}
			return f.show(cmd, report, report.OK, report.WriteText)
		}}
	f.register(cmd)
	cmd.Flags().BoolVar(&rewrite, "fmt", false, "format the operator's files first, as opa fmt does")
	return cmd
}

func rewriteAll(files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil { // it is there, so its mode stays
			return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the file "+name+" cannot be written")
		}
	}
	return nil
}

func policyLintCommand() *cobra.Command {
	var f policyFlags
	var list bool
	cmd := &cobra.Command{Use: "lint", Short: "Find what compiles and does not do what its author thinks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if list {
				return f.show(cmd, workbench.Lints(), true, workbench.WriteLints)
			}
			b, err := f.open(cmd)
			if err != nil {
				return err
			}
			report, err := b.Lint(cmd.Context())
			if err != nil {
				return err
			}
			return f.show(cmd, report, report.OK, report.WriteText)
		}}
	f.register(cmd)
	cmd.Flags().BoolVar(&list, "list", false, "list the lints instead")
	return cmd
}

func policyTestCommand() *cobra.Command {
	var f policyFlags
	var pattern string
	var verbose bool
	cmd := &cobra.Command{Use: "test", Short: "Run the tests of the policies", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := f.open(cmd)
			if err != nil {
				return err
			}
			report, err := b.Test(cmd.Context(), pattern)
			if err != nil {
				return err
			}
			if !verbose {
				report = report.WithoutTraces()
			}
			return f.show(cmd, report, report.OK, func(o *term.Out) { report.WriteText(o, verbose) })
		}}
	f.register(cmd)
	cmd.Flags().StringVar(&pattern, "run", "", "only tests whose name fits this regular expression")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also what passed, and how a failure came to be")
	return cmd
}

func policyCoverageCommand() *cobra.Command {
	var f policyFlags
	var least float64
	cmd := &cobra.Command{Use: "coverage", Short: "Say which lines no test reaches", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := f.open(cmd)
			if err != nil {
				return err
			}
			report, err := b.Coverage(cmd.Context(), least)
			if err != nil {
				return err
			}
			return f.show(cmd, report, report.OK, report.WriteText)
		}}
	f.register(cmd)
	cmd.Flags().Float64Var(&least, "min", 0, "the least percentage that is enough")
	return cmd
}
