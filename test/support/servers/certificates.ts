/** Certificates for tests, created with the openssl of the machine. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Why tests of https cannot run here; false when they can. */
export const noCertificates: string | false =
  spawnSync('openssl', ['version']).status === 0 ? false : 'SKIPPED: there is no openssl on this machine'

export type CertificateFiles = { cert: string; key: string; certText: string; keyText: string }

/** Creates a directory of certificates: self-signed for 127.0.0.1, localhost and `berth.test`, valid between these days from now. */
export function openCertificates(t: { after(run: () => void): void }) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-tls-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  // Only `ca` accepts both times in every version.
  const config = join(folder, 'ca.conf')
  const index = join(folder, 'index')
  writeFileSync(
    config,
    `[ca]
default_ca = own
[own]
database = ${index}
new_certs_dir = ${folder}
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
x509_extensions = names
[any]
commonName = supplied
[names]
subjectAltName = IP:127.0.0.1,DNS:localhost,DNS:berth.test
`,
  )
  writeFileSync(index, '')
  const openssl = (...words: string[]) => execFileSync('openssl', words, { stdio: 'pipe' })
  const make = (name: string, { from = -1, until = 90 } = {}): CertificateFiles => {
    const [cert, key, asked] = ['crt', 'key', 'csr'].map((end) => join(folder, `${name}.${end}`)) as [
      string,
      string,
      string,
    ]
    const day = (days: number) =>
      `${new Date(Date.now() + days * 86_400_000).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    openssl('req', '-new', ...curve, '-keyout', key, '-out', asked, '-subj', `/CN=${name}`)
    const times = ['-startdate', day(from), '-enddate', day(until)]
    openssl(
      'ca',
      '-batch',
      '-selfsign',
      '-notext',
      '-config',
      config,
      '-keyfile',
      key,
      '-in',
      asked,
      '-out',
      cert,
      ...times,
    )
    return { cert, key, certText: readFileSync(cert, 'utf8'), keyText: readFileSync(key, 'utf8') }
  }
  return { folder, make }
}
