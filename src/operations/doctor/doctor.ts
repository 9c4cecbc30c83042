/** `berth doctor`: looks at everything that a service needs, and says what is well, what is not, and what to do. */

import { BadSetting, type Config } from '../../config.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import type { Finding } from './finding.ts'

const MAX_MS = 5000

/** What a command gets that it needs, and what it gives: cli/command-line/command.ts. */
type Asked = { settings(): Config; progress: { show(label: string, done: number, all: number): void; end(): void } }
type Report = { data: { well: boolean; findings: Finding[] }; text: string; code: 0 | 1 }

/** `berth doctor`: examines settings, files, ports and the store, for at most 5 s. The code is 1 when something is wrong. */
export async function doctorCommand({ settings, progress }: Asked): Promise<Report> {
  const config = readSettings(settings)
  const findings =
    'is' in config ? [config] : await runChecks(config, (done, all) => progress.show('checking', done, all))
  progress.end()
  const wrong = findings.filter((finding) => finding.is === 'wrong').length
  const worries = findings.filter((finding) => finding.is === 'worry').length
  const end = wrong > 0 ? `${wrong} wrong` : worries > 0 ? `nothing is wrong, ${worries} to look at` : 'all is well'
  const text = [...findings.map(lineOf), '', end].join('\n')
  return { data: { well: wrong === 0, findings }, text, code: wrong === 0 ? 0 : 1 }
}

/** Makes every check, and gives what each found. `progress` is told how many of how many are done. */
export async function runChecks(config: Config, progress: (done: number, all: number) => void): Promise<Finding[]> {
  const checks = Object.entries((await import('./checks.ts')).CHECKS)
  let finished = 0
  // Side by side: what hangs keeps nothing else waiting.
  const results = checks.map(async ([about, check]) => {
    const result = await inTime(about, check(config))
    progress(++finished, checks.length)
    return result
  })
  return [...settingsFindings(config), ...(await Promise.all(results)).flat()]
}

function settingsFindings({ unknownSettings, drill }: Config): Finding[] {
  const about = 'settings'
  const findings: Finding[] = unknownSettings.map((found) => ({
    about,
    is: 'worry',
    found,
    advice: 'set what was meant, or take it away: it does nothing',
  }))
  if (drill)
    findings.push({
      about,
      is: 'worry',
      found: 'BERTH_DRILL is on: nothing is delivered, mailed, backed up or asked outside',
      advice: 'take it away where this is production',
    })
  return findings.length > 0 ? findings : [{ about, is: 'well', found: 'can be read' }]
}

function readSettings(settings: () => Config): Config | Finding {
  try {
    return settings()
  } catch (error) {
    if (!(error instanceof BadSetting)) throw error
    const advice = 'set it right and run berth doctor again; nothing else was checked'
    return { about: 'settings', is: 'wrong', found: error.message, advice }
  }
}

/** A check that throws, or never ends, has found something wrong too. */
async function inTime(about: string, check: Promise<Finding[]>): Promise<Finding[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${MAX_MS / 1000} s`)), MAX_MS)
  })
  try {
    return await Promise.race([check, late])
  } catch (error) {
    return [{ about, is: 'wrong', found: describeError(error) }]
  } finally {
    clearTimeout(timer)
  }
}

const MARKS = { well: 'ok', worry: 'look', wrong: 'WRONG' }

function lineOf({ about, is, found, advice }: Finding): string {
  const line = `${MARKS[is].padEnd(5)}  ${about}: ${found}`
  return advice === undefined ? line : `${line}\n       ${advice}`
}
