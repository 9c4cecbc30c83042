/** Runs a shell script in a sandbox, from a namespace of test/sandbox/lab.ts, and prints the result as JSON. */
import { spawnSync } from 'node:child_process'
import { networkRules } from '../../src/sandbox/network/rules.ts'
import type { Rules } from './lab.ts'
import { runInSandbox } from './sandbox-world.ts'
import { withoutRules } from './without-rules.ts'

const { script, policy, rules, afterStart, isHeld } = JSON.parse(process.argv[2]!)

function rulesOf(rules: Rules): typeof networkRules {
  if (rules === 'all') return networkRules
  if (rules === 'none') return withoutRules
  if (rules === 'resolver') return (host, dnsAddress, allowed) => networkRules(host, dnsAddress, allowed, 'resolver')
  return (...words) => {
    const lines = networkRules(...words).split('\n')
    const left = lines.filter((line) => !line.includes(rules.without))
    if (left.length === lines.length) throw new Error(`no rule with ${rules.without} to leave out`)
    return left.join('\n')
  }
}

if (afterStart !== undefined) setTimeout(() => spawnSync('sh', ['-c', afterStart], { stdio: 'ignore' }), 1000)
const result = await runInSandbox(script, policy, { rulesOf: rulesOf(rules), isHeld })
console.log(JSON.stringify(result))
