/** Letters leave by SMTP, or, where no server is set, as `.eml` files that any mail program opens. */
import { join } from 'node:path'
import type { MailSettings } from '../../config.ts'
import { writeFileAtomicallyAsync } from './atomic-file.ts'
import { createDirectory } from './directory.ts'

/** A letter as it is handed over. `id` names it for ever: handed over twice, it has the same Message-ID or file. */
type Post = { id: string; at: number; recipient: string; subject: string; text: string }

/** `refused`: for good, and no other try will help. `failed`: now; it is to be tried again. */
export type SendResult = { end: 'sent' } | { end: 'refused' | 'failed'; reason: string }

export type Mailer = {
  /** Where letters go, for the log: never with a password. */
  place: string
  /** Never throws. Gives up with `failed` when the signal says so; whether the server took the letter is then unknown. */
  post(letter: Post, signal: AbortSignal): Promise<SendResult>
}

/** The longest silence of a mail server. */
const SILENCE_MS = 20_000
/** One plain address: nothing that a header, a list or an SMTP command could be made of. */
const ADDRESS = /^[^\s\p{C}<>()[\]\\,;:"@]{1,64}@[^\s\p{C}<>()[\]\\,;:"@]{1,253}$/u

/** The mailer that the settings ask for. */
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

/** Connects and signs in as for a letter, and sends none. Throws what the server or the network says. */
export async function tryMailServer(smtp: NonNullable<MailSettings['smtp']>): Promise<void> {
  const transport = await openTransport(smtp)
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}

/** What somebody can do about an error of `tryMailServer`, by the code of what failed. */
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
    opportunisticTLS: !secure && tls.mayEncrypt && !tls.mustEncrypt,
    ignoreTLS: !tls.mayEncrypt,
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
    if (!ADDRESS.test(letter.recipient)) return { end: 'refused', reason: 'the recipient is not a mail address' }
    try {
      return await post(letter, signal)
    } catch (error) {
      return { end: isForGood(error) ? 'refused' : 'failed', reason: (error as Error).message }
    }
  }
}

/** A 5xx answer to this letter or its recipient. One to the greeting or the login is the server's trouble, and passes. */
function isForGood(error: unknown): boolean {
  const { code, responseCode = 0 } = error as { code?: string; responseCode?: number }
  return responseCode >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE')
}
