/** The https certificate in `berth doctor`. docs/tls.md. */
import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import type { Config } from '../../../config.ts'
import { readPair } from '../../../platform/tls/tls.ts'
import type { Finding } from '../finding.ts'

const DAY_MS = 86_400_000
/** Certificates of 90 days are renewed with 30 left. */
const SOON_DAYS = 14

/** Checks the days until it expires, the name of the public URL, and the permissions of the key file. */
export async function checkCertificate({ tls, publicUrl, host }: Config): Promise<Finding[]> {
  if (tls === undefined) return []
  const about = 'certificate'
  const { leaf } = readPair(tls)
  const days = Math.floor((leaf.validToDate.getTime() - Date.now()) / DAY_MS)
  const until = leaf.validToDate.toISOString().slice(0, 10)
  const age: Finding = {
    about,
    is: days < 0 ? 'wrong' : days < SOON_DAYS ? 'worry' : 'well',
    found: days < 0 ? `${tls.cert} expired on ${until}` : `${tls.cert} is good for ${days} days, until ${until}`,
    ...(days < SOON_DAYS && { advice: 'renew it: a running Berth loads the new files automatically' }),
  }
  const findings = [age]
  if (leaf.validFromDate.getTime() > Date.now())
    findings.push({ about, is: 'wrong', found: `${tls.cert} is not good before ${leaf.validFromDate.toISOString()}` })
  const name = (publicUrl === undefined ? host : new URL(publicUrl).hostname).replace(/^\[|\]$/g, '')
  if ((isIP(name) === 0 ? leaf.checkHost(name) : leaf.checkIP(name)) === undefined)
    findings.push({
      about,
      is: publicUrl === undefined ? 'worry' : 'wrong',
      found: `it is not for ${name}, but for ${leaf.subjectAltName ?? leaf.subject}`,
      advice: 'set BERTH_PUBLIC_URL to a name of the certificate, or get one for this name',
    })
  if (process.platform !== 'win32' && (statSync(tls.key).mode & 0o007) !== 0)
    findings.push({ about, is: 'worry', found: `${tls.key} can be read by all users`, advice: `chmod o= ${tls.key}` })
  return findings
}
