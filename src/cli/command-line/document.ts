/** Generates docs/command-line.md from the table of commands. */
import type { Command } from './command.ts'
import { choice, formatOption, usageOf } from './help.ts'

const INTRODUCTION = `# The command line

This page is generated from src/cli/command/commands.ts by \`npm run commands\`.

\`npm start -- <words>\` and \`npx berth <words>\` work in a fresh clone: both install missing packages first. \`npm start\` prints what it
runs; \`npm start --silent -- <words>\` leaves stdout to the command, and \`npx -- berth --version\` keeps npx from handling the option.

- Settings are environment variables ([settings.md](settings.md)). Commands that call the running service find it at \`HOST\` and
  \`PORT\`, else at \`BERTH_PUBLIC_URL\` ([operations.md](operations.md#service-address-of-commands)). Operator commands use \`BERTH_OPERATOR_TOKEN\`, \`env\` uses \`BERTH_TOKEN\`; the default is in \`credentials.json\` of \`BERTH_DATA\`.
- \`--json\`: the result is JSON on stdout, also an error (\`{"error": {"message", "exitCode"}}\`). Everything else is on stderr.
- Control characters in names, and in server responses, are printed as \`?\` and escaped in JSON. A \`.env\` text is exact outside a terminal.
- Long operations show a progress bar on stderr, only on a terminal.
- Exit codes: 0 success; 1 an error or a failed check; 64 a usage error (with the closest command); 65 a corrupt backup; 78 an invalid setting.

## Completion

    npx berth completion bash > ~/.local/share/bash-completion/completions/berth
    npx berth completion zsh  > ~/.zfunc/_berth        # a folder of $fpath
    npx berth completion fish > ~/.config/fish/completions/berth.fish
`

/** Returns the text of the page. */
export function commandLineText(commands: readonly Command[]): string {
  return `${INTRODUCTION}\n## Commands\n${commands.map(sectionOf).join('')}`
}

function sectionOf(command: Command): string {
  const { name, summary, details, example, arguments: takes = [], options = {} } = command
  const rows = [
    ...takes.map(({ name, description, oneOf }) => `- \`<${name}>\`: ${choice(description, oneOf)}`),
    ...Object.entries(options).map(
      ([name, option]) =>
        `- \`${formatOption(name, option)}\`: ${choice(option.description, option.oneOf, option.repeatable)}`,
    ),
  ]
  const list = rows.length === 0 ? '' : `\n${rows.join('\n')}\n`
  const text = details === undefined ? `${summary}.` : `${summary}. ${details}`
  return `\n### berth ${name}\n\n    ${usageOf(command)}\n\n${text}\n${list}\nExample: \`${example}\`\n`
}
