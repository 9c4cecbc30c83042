/** Email transport: SMTP, or `.eml` files where no server is set. */
import { join } from 'node:path'
import type { MailSettings } from '../../config.ts'
import { writeFileAtomicallyAsync } from './atomic-file.ts'
import { createDirectory } from './directory.ts'

/** A message to send. `id` is permanent: a repeated attempt has the same Message-ID or file. */
type Post = { id: string; at: number; recipient: string; subject: string; text: string }

/** `refused`: permanent, no retry. `failed`: temporary, to be retried. */
export type SendResult = { end: 'sent' } | { end: 'refused' | 'failed'; reason: string }

export type Mailer = {
  /** The destination of messages, for the log, without a password. */
  place: string
  /** Never throws. Returns `failed` when aborted; whether the server accepted the message is then unknown. */
  post(letter: Post, signal: AbortSignal): Promise<SendResult>
}

const SILENCE_MS = 20_000
/** One plain address that cannot inject a header, a list or an SMTP command. */
const ADDRESS = /^[^\s\p{C}<>()[\]\\,;:"@]{1,64}@[^\s\p{C}<>()[\]\\,;:"@]{1,253}$/u

/** Opens the configured mailer. */
export function openMailer(settings: MailSettings): Mailer {
  const { from, smtp } = settings
  if (smtp === undefined)
    return { place: `files in ${settings.folder}, because BERTH_SMTP_URL is not set`, post: guarded(postToFile) }
  return { place: `the mail server ${smtp.host}:${smtp.port}`, post: guarded(postBySmtp) }

  async function postBySmtp(letter: Post, signal: AbortSignal): Promise<SendResult> {
    const transport = await openTransport(smtp!)
    try {
      await transport.sendMail({ ...messageOf(letter, from), signal })
      return { end: 'sent' }
    } finally {
      transport.close()
    }
  }

  async function postToFile(letter: Post): Promise<SendResult> {
    const { createTransport } = await import('nodemailer')
    const writer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
    const { message } = await writer.sendMail(messageOf(letter, from))
    const moment = new Date(letter.at).toISOString().replaceAll(':', '-')
    createDirectory(settings.folder)
    await writeFileAtomicallyAsync(join(settings.folder, `${moment}-${letter.id}.eml`), message as Buffer)
    return { end: 'sent' }
  }
}

/** Connects and signs in without sending a message. Throws the error of the server or network. */
export async function tryMailServer(smtp: NonNullable<MailSettings['smtp']>): Promise<void> {
  const transport = await openTransport(smtp)
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}

/** Returns advice for an error of `tryMailServer`. */
export function mailAdvice(error: unknown): string {
  const { code = '', originalCode = '' } = error as { code?: string; originalCode?: string }
  if (/AUTH/.test(code)) return 'check user and password of BERTH_SMTP_URL'
  if (code === 'ETLS' || /CERT|SSL|TLS|SIGNATURE/.test(originalCode))
    return 'give the mail server a certificate that is good for its name, or set BERTH_SMTP_TLS to unverified'
  return 'check host and port of BERTH_SMTP_URL, and that the mail server runs'
}

async function openTransport({ host, port, secure, user, password, tls }: NonNullable<MailSettings['smtp']>) {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    host,
    port,
    secure,
    requireTLS: !secure && tls.mustEncrypt,
    opportunisticTLS: !secure && tls.canEncrypt && !tls.mustEncrypt,
    ignoreTLS: !tls.canEncrypt,
    tls: { rejectUnauthorized: tls.mustVerify },
    ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
    connectionTimeout: SILENCE_MS,
    greetingTimeout: SILENCE_MS,
    dnsTimeout: SILENCE_MS,
    socketTimeout: SILENCE_MS,
  })
}

function messageOf({ id, at, recipient, subject, text }: Post, from: MailSettings['from']) {
  const [, domain] = from.address.split('@')
  return {
    from,
    to: { name: '', address: recipient },
    subject,
    text,
    messageId: `<${id}@${domain}>`,
    date: new Date(at),
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

type PostOne = Mailer['post']

function guarded(post: PostOne): PostOne {
  return async (letter, signal) => {
    if (!ADDRESS.test(letter.recipient)) return { end: 'refused', reason: 'the recipient is not an email address' }
    try {
      return await post(letter, signal)
    } catch (error) {
      return { end: isForGood(error) ? 'refused' : 'failed', reason: (error as Error).message }
    }
  }
}

/** A 5xx response to this message or its recipient. To the greeting, login or sender it is a problem of the server or a setting. */
function isForGood(error: unknown): boolean {
  const { code, command, responseCode = 0 } = error as { code?: string; command?: string; responseCode?: number }
  if (command === 'MAIL FROM') return false
  return responseCode >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE')
}
