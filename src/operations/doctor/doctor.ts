import { BadSetting, type Config } from '../../config.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import { withTimeLimit } from '../../platform/fairness/time-limit.ts'
import { type Finding, findingsAbout } from './finding.ts'

const MAX_MS = 5000
const aboutSettings = findingsAbout('settings')

/** Input of a command: cli/command-line/command.ts. */
type Asked = { settings(): Config; progress: { show(label: string, done: number, all: number): void; end(): void } }
type Report = { data: { well: boolean; findings: Finding[] }; text: string; code: 0 | 1 }

/** `berth doctor`: checks settings, files, ports and the database, for at most 5 s, then `last`. Exit status 1 on an error. */
export async function doctorCommand(
  { settings, progress }: Asked,
  last?: (config: Config) => Promise<Finding>,
): Promise<Report> {
  const config = readSettings(settings)
  const findings =
    'is' in config ? [config] : await runChecks(config, (done, all) => progress.show('checking', done, all))
  progress.end()
  if (last !== undefined && !('is' in config)) findings.push(await last(config))
  const wrong = findings.filter((finding) => finding.is === 'wrong').length
  const worries = findings.filter((finding) => finding.is === 'worry').length
  const end = wrong > 0 ? `${wrong} wrong` : worries > 0 ? `no errors; warnings: ${worries}` : 'all is well'
  const text = [...findings.map(lineOf), '', end].join('\n')
  return { data: { well: wrong === 0, findings }, text, code: wrong === 0 ? 0 : 1 }
}

/** Runs every check and returns the findings. `progress` receives the number done and the total. */
export async function runChecks(config: Config, progress: (done: number, all: number) => void): Promise<Finding[]> {
  const checks = Object.entries((await import('./checks.ts')).CHECKS)
  let finished = 0
  // In parallel, so a hanging check does not delay others.
  const results = checks.map(async ([about, check]) => {
    const result = await inTime(about, check(config))
    progress(++finished, checks.length)
    return result
  })
  return [...settingsFindings(config), ...(await Promise.all(results)).flat()]
}

function settingsFindings({ unknownSettings, drill }: Config): Finding[] {
  const { well, worry } = aboutSettings
  const findings = unknownSettings.map((found) => worry(found, 'correct or remove it: it has no effect'))
  if (drill) {
    const found = 'BERTH_DRILL is on: nothing is delivered, mailed, backed up or requested outside'
    findings.push(worry(found, 'remove it in production'))
  }
  return findings.length > 0 ? findings : [well('can be read')]
}

function readSettings(settings: () => Config): Config | Finding {
  try {
    return settings()
  } catch (error) {
    if (!(error instanceof BadSetting)) throw error
    return aboutSettings.wrong(error.message, 'correct it and run berth doctor again; nothing else was checked')
  }
}

/** A check that throws or times out is an error finding. */
function inTime(about: string, check: Promise<Finding[]>): Promise<Finding[]> {
  const { wrong } = findingsAbout(about)
  const late = [wrong(`no response within ${MAX_MS / 1000} s`)]
  return withTimeLimit(check, MAX_MS, late).catch((error) => [wrong(describeError(error))])
}

const MARKS = { well: 'ok', worry: 'look', wrong: 'WRONG' }

function lineOf({ about, is, found, advice }: Finding): string {
  const line = `${MARKS[is].padEnd(5)}  ${about}: ${found}`
  return advice === undefined ? line : `${line}\n       ${advice}`
}
