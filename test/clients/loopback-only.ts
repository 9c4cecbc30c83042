/** Loaded into a client before its own code: each host name that it looks up, but this machine, is recorded and not found. */
import dns from 'node:dns'
import { appendFileSync } from 'node:fs'

const lookup = dns.lookup as (...args: unknown[]) => void
const refuse = (hostname: string) => {
  appendFileSync(process.env.BERTH_CLIENTS_OUTSIDE!, `${hostname}\n`)
  return Object.assign(new Error(`${hostname} is not on this machine`), { code: 'ENOTFOUND' })
}
const isHere = (hostname: string) => hostname === 'localhost' || hostname.startsWith('127.')

dns.lookup = ((hostname: string, ...rest: unknown[]) => {
  if (isHere(hostname)) return lookup(hostname, ...rest)
  const answer = rest.at(-1) as (error: Error) => void
  process.nextTick(answer, refuse(hostname))
}) as typeof dns.lookup
