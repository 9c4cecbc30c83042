/** The https certificate in `berth doctor`. docs/tls.md. */
import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import type { Config } from '../../../config.ts'
import { readPair } from '../../../platform/tls/tls.ts'
import { type Finding, findingsAbout } from '../finding.ts'

const DAY_MS = 86_400_000
/** Certificates of 90 days are renewed with 30 left. */
const SOON_DAYS = 14

/** Checks the days until it expires, the name of the public URL, and the permissions of the key file. */
export async function checkCertificate({ tls, publicUrl, host }: Config): Promise<Finding[]> {
  if (tls === undefined) return []
  const { well, worry, wrong } = findingsAbout('certificate')
  const { leaf } = readPair(tls)
  const days = Math.floor((leaf.validToDate.getTime() - Date.now()) / DAY_MS)
  const until = leaf.validToDate.toISOString().slice(0, 10)
  const left = `${tls.cert} is good for ${days} days, until ${until}`
  const renew = 'renew it: a running Berth loads the new files automatically'
  const findings: Finding[] = []
  if (days < 0) findings.push(wrong(`${tls.cert} expired on ${until}`, renew))
  else findings.push(days < SOON_DAYS ? worry(left, renew) : well(left))
  if (leaf.validFromDate.getTime() > Date.now())
    findings.push(wrong(`${tls.cert} is not good before ${leaf.validFromDate.toISOString()}`))
  const name = (publicUrl === undefined ? host : new URL(publicUrl).hostname).replace(/[[\]]/g, '')
  if ((isIP(name) === 0 ? leaf.checkHost(name) : leaf.checkIP(name)) === undefined) {
    const found = `it is not for ${name}, but for ${leaf.subjectAltName ?? leaf.subject}`
    const advice = 'set BERTH_PUBLIC_URL to a name of the certificate, or get one for this name'
    findings.push(publicUrl === undefined ? worry(found, advice) : wrong(found, advice))
  }
  if (process.platform !== 'win32' && (statSync(tls.key).mode & 0o007) !== 0)
    findings.push(worry(`${tls.key} can be read by all users`, `chmod o= ${tls.key}`))
  return findings
}
