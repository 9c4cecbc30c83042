/** A proxy before PostgreSQL that returns errors in German, as a server with `lc_messages=de_DE.UTF-8` does. */
import { connect, createServer } from 'node:net'
import type { TestContext } from 'node:test'
import { messagesIn } from './late-proxy.ts'

const ERROR = 0x45

/** The translations in PostgreSQL's own catalog (de.po) of the errors that Berth may get. */
const GERMAN: Readonly<Record<string, string>> = {
  ERROR: 'FEHLER',
  FATAL: 'FATAL',
  'cached plan must not change result type': 'gecachter Plan darf den Ergebnistyp nicht ändern',
  'canceling statement due to statement timeout': 'storniere Anfrage wegen Zeitüberschreitung der Anfrage',
  'canceling statement due to lock timeout': 'storniere Anfrage wegen Zeitüberschreitung einer Sperre',
  'terminating connection due to administrator command':
    'Verbindung wird abgebrochen aufgrund von Anweisung des Administrators',
}

export type GermanProxy = {
  url: string
  /** The messages of errors that passed, in German, in order. */
  said: string[]
}

/** Passes connections on. Of an error the severity and the message are in German; its code and all else stay. */
export async function openGermanProxy(t: TestContext, target: URL): Promise<GermanProxy> {
  const said: string[] = []
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    client.pipe(upstream)
    let rest: Buffer = Buffer.alloc(0)
    upstream.on('data', (data: Buffer) => {
      const { messages, begun } = messagesIn(Buffer.concat([rest, data]))
      rest = begun
      for (const message of messages) client.write(message[0] === ERROR ? translated(message, said) : message)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
      t.after(() => one.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as { port: number }).port)
  return { url: url.href, said }
}

/** Fields of an error: a letter, and a text that ends with a zero byte. */
function translated(message: Buffer, said: string[]): Buffer {
  const fields = message.subarray(5, -1).toString().split('\0').filter(Boolean)
  const german = fields.map((field) => {
    if (!/^[SM]/.test(field)) return field
    const text = GERMAN[field.slice(1)] ?? 'ein Fehler, den dieser Vermittler nicht übersetzt'
    if (field.startsWith('M')) said.push(text)
    return field[0] + text
  })
  const body = Buffer.from(`${german.join('\0')}\0\0`)
  const head = Buffer.alloc(5)
  head[0] = ERROR
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
