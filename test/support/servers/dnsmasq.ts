/** A stock dnsmasq on loopback, whose TXT records are written as its users write them: into its file, with a restart. */
import { type ChildProcess, spawn } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../eventually.ts'
import { canRun, WITH_SBIN } from '../programs.ts'
import { freePort } from './free-port.ts'

export const hasDnsmasq = canRun('dnsmasq', '--version')

/** The value of a record is text in the file; a comma ends a chunk there, unless the text is in quotes. */
export type TxtRecord = { domain: string; value: string }

export type Dnsmasq = {
  /** `127.0.0.1:port`, as BERTH_DNS_SERVERS expects it. Nothing responds there before the first `serve`. */
  address: string
  /** Serves only these TXT records for com, org and net, once it resolves. The first name must be one of these. */
  serve(...records: TxtRecord[]): Promise<void>
  /** Nothing responds until the next `serve`. */
  stop(): Promise<void>
  close(): Promise<void>
}

/** Takes a free port for it. */
export async function openDnsmasq(): Promise<Dnsmasq> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-dnsmasq-'))
  const file = join(folder, 'dnsmasq.conf')
  const port = await freePort()
  const address = `127.0.0.1:${port}`
  let server: ChildProcess | undefined
  const stop = async () => {
    if (server !== undefined) await ended(server)
    server = undefined
  }
  return {
    address,
    async serve(...records) {
      await stop()
      const lines = ['no-resolv', 'no-hosts', 'listen-address=127.0.0.1', 'bind-interfaces', `port=${port}`]
      const texts = records.map(({ domain, value }) => `txt-record=${domain},${value}`)
      writeFileSync(file, [...lines, 'local=/com/org/net/', ...texts].join('\n'))
      server = spawn('dnsmasq', ['--keep-in-foreground', `--conf-file=${file}`, '--pid-file=', '--user='], {
        stdio: 'ignore',
        env: { ...process.env, PATH: WITH_SBIN },
      })
      if (records[0] !== undefined) await answering(address, records[0].domain)
    },
    stop,
    async close() {
      await stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function answering(server: string, name: string): Promise<void> {
  const resolver = new Resolver({ timeout: 200, tries: 1 })
  resolver.setServers([server])
  await eventually(() =>
    resolver.resolveTxt(name).then(
      () => true,
      () => false,
    ),
  )
}

function ended(server: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (server.exitCode !== null || server.signalCode !== null) return resolve()
    server.on('exit', () => resolve())
    server.kill('SIGKILL')
  })
}
