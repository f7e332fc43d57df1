// Command compose prints, as JSON, what Docker Compose makes of a file: its own loader, with the profiles that are named.
package main

import (
	"context"
	"log"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:2], cli.WithOsEnv, cli.WithDefaultProfiles(os.Args[2:]...))
	if err != nil {
		log.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	loaded, err := project.MarshalJSON()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stdout.Write(loaded); err != nil {
		log.Fatal(err)
	}
}
