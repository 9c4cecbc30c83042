/** What the pages of health and of what needs attention make of a sentence: commands to copy, and names of settings. docs/console.md: Operator. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { COMMANDS } from '../../src/cli/command/commands.ts'
import { commandsIn, showAdvice, withInlineCode } from '../../src/console/advice-commands.ts'

const SRC = join(import.meta.dirname, '..', '..', 'src')

/** TABLE sentences, and the commands in them. */
const MESSAGES: readonly [string, string[]][] = [
  ['run berth keys export, then berth keys verify (docs/variables.md)', ['berth keys export', 'berth keys verify']],
  ['set BERTH_BACKUP_SCHEDULE, or run berth backup each day (docs/backup.md)', ['berth backup']],
  ['run berth backup verify --newest', ['berth backup verify --newest']],
  ['correct it and run berth doctor again; nothing else was checked', ['berth doctor']],
  ['berth token rm tok_a1, and create one with --expires', ['berth token rm tok_a1']],
  ['berth user delete a.b-c', ['berth user delete a.b-c']],
  ['berth team member add acme USER --role OWNER', ['berth team member add acme USER --role OWNER']],
  ['make this user its owner: chown -R 1000 /var/lib/my berth', ['chown -R 1000 /var/lib/my berth']],
  ['chmod go= /a, b/keys.json', ['chmod go= /a, b/keys.json']],
  [
    'cannot open /dev/net/tun: run `chmod 0666 /dev/net/tun`, and add the udev rule `KERNEL=="tun"` so that it stays so',
    ['chmod 0666 /dev/net/tun'],
  ],
  ['a Berth responds at 127.0.0.1:3000', []],
  ['check DATABASE_URL, and that the server runs', []],
]

test('commands in a message are recognized, and nothing else', () => {
  for (const [sentence, commands] of MESSAGES) assert.deepEqual(commandsIn(sentence), commands, sentence)
})

test('every command that the doctor or the report names is one that can be typed', () => {
  const words = COMMANDS.map((one) => `berth ${one.name}`)
  const files = globSync('operations/{doctor,report}/**/*.ts', { cwd: SRC }).map((name) => join(SRC, name))
  const named = files.flatMap((file) => {
    const code = readFileSync(file, 'utf8').replaceAll(/\/\*\*?[\s\S]*?\*\/|\/\/.*/g, '')
    return [...code.matchAll(/(['`])((?:(?!\1).)*\bberth (?:(?!\1).)*)\1/g)].flatMap(([, , text]) =>
      commandsIn(text!.replaceAll(/\$\{\w+(?:\.\w+)?\}/g, 'x')),
    )
  })
  assert.ok(named.length >= 10, named.join('\n'))
  for (const one of named)
    assert.ok(
      words.some((known) => one === known || one.startsWith(`${known} `)),
      one,
    )
})

test('a command is copied, is not said twice where it is all that there is, and is text like any other', () => {
  const alone = showAdvice('berth token rm tok_a1').markup
  assert.equal(alone.match(/berth token rm tok_a1<\/code>/g)?.length, 1)
  assert.match(alone, /aria-label="Copy the command berth token rm tok_a1"/)
  const whole = showAdvice('set BERTH_BACKUP_SCHEDULE, or run berth backup each day').markup
  assert.match(
    whole,
    /<code class="name">BERTH_<wbr>BACKUP_<wbr>SCHEDULE<\/code>, or run <code class="name">berth backup<\/code> each day/,
  )
  assert.match(whole, /<code class="copy">berth backup<\/code>/)
  assert.doesNotMatch(showAdvice('chmod go= /tmp/<b>').markup, /<b>/)
  const quoted = withInlineCode('run `chmod 0666 /dev/net/tun`, and add the udev rule').markup
  assert.equal(quoted, 'run <code class="name">chmod 0666 /dev/net/tun</code>, and add the udev rule')
})
