import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Config } from '../../../config.ts'
import { pluralize } from '../../../platform/base/text.ts'
import type { UnnamedProxy } from '../../../platform/tls/unnamed-proxies.ts'
import { type Finding, findingsAbout } from '../finding.ts'

/** The log has the proxies above this number. */
const MAX_REPORTED = 5
const LOOPBACK = /^(localhost|127\.|::1$|\[::1\]$)/

/** Links in emails and pages use this address, so it must resolve. Tokens sent without https can be intercepted. */
export async function checkAddress({ host, publicUrl, tls }: Config): Promise<Finding[]> {
  const { well, worry, wrong } = findingsAbout('address')
  const name = publicUrl === undefined ? host : new URL(publicUrl).hostname
  const findings: Finding[] = []
  if (publicUrl !== undefined && isIP(name.replace(/[[\]]/g, '')) === 0 && !(await resolves(name))) {
    const found = `${name} of BERTH_PUBLIC_URL does not resolve here: links in emails and pages do not work`
    findings.push(wrong(found, 'create its DNS record, or correct BERTH_PUBLIC_URL'))
  }
  if (!LOOPBACK.test(host) && tls === undefined && publicUrl?.startsWith('https:') !== true) {
    const advice =
      'set BERTH_TLS_CERT and BERTH_TLS_KEY (docs/tls.md), put a proxy with https in front and set BERTH_PUBLIC_URL to its https address, or set HOST=127.0.0.1'
    findings.push(worry(`HOST=${host} is open to other machines, and tokens are sent to it unencrypted (http)`, advice))
  }
  return findings.length > 0 ? findings : [well(publicUrl ?? `only this machine (${host})`)]
}

async function resolves(name: string): Promise<boolean> {
  return lookup(name).then(
    () => true,
    () => false,
  )
}

/** A finding for each address that is not a trusted proxy and says that its clients use https. Only the running service sees them. docs/limits.md: Behind a proxy. */
export function proxyFindings(seen: readonly UnnamedProxy[]): Finding[] {
  return seen.slice(0, MAX_REPORTED).map(({ address, requests }) => ({
    about: 'proxies',
    is: 'worry',
    found: `${pluralize(requests, 'request')} over https came by ${address}, which BERTH_TRUSTED_PROXIES does not name: all its clients count as one`,
    advice: `add ${address} to BERTH_TRUSTED_PROXIES where it is a proxy of yours; else its clients wrote the header, and nothing is to be done`,
  }))
}
