/** A real mail server on the loopback address, and a parser for its messages. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

export type Received = { from: string; to: string[]; raw: string; letter: ReadLetter }
export type Smtp = {
  port: number
  url: string
  received: Received[]
  /** The number of encrypted messages. */
  encrypted: number
  /** Asked for every recipient; a code refuses it. */
  refuse: (recipient: string) => number | undefined
  /** Asked for every sender; a code refuses it. */
  refuseSender: (sender: string) => number | undefined
  /** Called once a message is complete; the server responds when it resolves. */
  onLetter: (received: Received) => Promise<void>
  close(): Promise<void>
}

/** Starts a server. `login`: the required user, as `user:password`. `certificate`: for STARTTLS, or with `secure` for TLS from the first byte. */
export async function openSmtp({
  login,
  port = 0,
  certificate,
  secure = false,
}: {
  login?: string
  port?: number
  certificate?: { cert: string; key: string }
  secure?: boolean
} = {}): Promise<Smtp> {
  const smtp: Smtp = {
    port,
    url: '',
    received: [],
    encrypted: 0,
    refuse: () => undefined,
    refuseSender: () => undefined,
    onLetter: async () => {},
    close,
  }
  const server = new SMTPServer({
    secure,
    ...certificate,
    disabledCommands: [
      ...(certificate === undefined ? (['STARTTLS'] as const) : []),
      ...(login === undefined ? (['AUTH'] as const) : []),
    ],
    authOptional: login === undefined,
    allowInsecureAuth: true,
    logger: false,
    onAuth: ({ username, password }, _session, done) =>
      done(`${username}:${password}` === login ? null : failure(535), { user: username }),
    onMailFrom: ({ address }, _session, done) => {
      const code = smtp.refuseSender(address)
      done(code === undefined ? null : failure(code))
    },
    onRcptTo: ({ address }, _session, done) => {
      const code = smtp.refuse(address)
      done(code === undefined ? null : failure(code))
    },
    onData: async (stream, { envelope, secure: isEncrypted }, done) => {
      if (isEncrypted) smtp.encrypted++
      let raw = ''
      for await (const chunk of stream) raw += chunk
      const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
      const received = { from, to: envelope.rcptTo.map(({ address }) => address), raw, letter: readLetter(raw) }
      smtp.received.push(received)
      await smtp.onLetter(received)
      done()
    },
  })
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  // A server that is not closed does not keep the process alive.
  server.server.unref()
  smtp.port = (server.server.address() as AddressInfo).port
  smtp.url = `smtp://127.0.0.1:${smtp.port}`
  return smtp

  function close(): Promise<void> {
    return new Promise((resolve) => server.close(() => resolve()))
  }
}

function failure(responseCode: number): Error {
  return Object.assign(new Error('not now, or not ever'), { responseCode })
}

export type ReadLetter = { headers: Map<string, string[]>; text: string }

/** Parses a message by RFC 5322 and MIME: folded headers, encoded words, and a body in quoted-printable or base64. */
export function readLetter(raw: string): ReadLetter {
  const [head = '', ...rest] = raw.split('\r\n\r\n')
  const headers = new Map<string, string[]>()
  for (const line of head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')) {
    const [, name = '', value = ''] = /^([!-9;-~]+):\s*(.*)$/.exec(line) ?? []
    if (name === '') throw new Error(`not a header: ${line}`)
    headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), decodeWords(value)])
  }
  const body = rest.join('\r\n\r\n')
  const encoding = headers.get('content-transfer-encoding')?.[0]
  return { headers, text: decodeBody(body, encoding).replaceAll('\r\n', '\n').replace(/\n$/, '') }
}

function decodeWords(value: string): string {
  const joined = value.replaceAll(/\?=\s+=\?/g, '?==?')
  return joined.replaceAll(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
    kind.toLowerCase() === 'b' ? Buffer.from(text, 'base64').toString() : decodeQuoted(text.replaceAll('_', ' ')),
  )
}

function decodeBody(body: string, encoding: string | undefined): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  return encoding === 'quoted-printable' ? decodeQuoted(body.replaceAll('=\r\n', '')) : body
}

function decodeQuoted(text: string): string {
  const bytes = text.replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
