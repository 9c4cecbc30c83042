/** Letters: queued in the transaction, sent at least once by a real mail server or as files, and given up after three days. */

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pino } from 'pino'
import { BadSetting, readConfig } from '../../../src/config.ts'
import { type MailMessage, queueMail, sealPendingMail, textOf } from '../../../src/platform/mail/mail.ts'
import { sendDueMail } from '../../../src/platform/mail/worker.ts'
import { openService, type Service } from '../../../src/service.ts'
import { eventually } from '../../support/eventually.ts'
import { newHome, processOnBothEngines, startService } from '../../support/process.ts'
import { openSmtp, readLetter } from '../../support/servers/smtp.ts'
import { addRows, markMailSent, requeueMail } from '../../support/states.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { migratedDatabase, onBothEngines, openWorld, type World } from '../../support/world.ts'

const smtp = await openSmtp()
after(() => smtp.close())
const SMTP = { BERTH_SMTP_URL: smtp.url, BERTH_MAIL_FROM: 'Berth of Acme <berth@acme.example>' }
const MINUTE = 60_000

const queue = (world: Pick<Service, 'deps'>, letter: Partial<MailMessage>) =>
  world.deps.db.write((db) =>
    queueMail(
      { db, deps: world.deps, now: world.deps.clock.now() },
      { recipient: 'ada@example.com', subject: 'Hello', text: 'You there.', ...letter },
    ),
  )
const rows = ({ deps }: World) => deps.db.read.selectFrom('mail').selectAll().orderBy('created_stamp').execute()
const to = (recipient: string) => smtp.received.filter((letter) => letter.to.includes(recipient))
const moveClock = ({ deps }: World, ms: number) => deps.clock.set(deps.clock.now() + ms)

onBothEngines(
  'a letter arrives once as it was written, with its sender, and its text is removed',
  async (world) => {
    const recipient = `grace.${world.engine}@example.com`
    const text = `Dear Grace,\n\nüñí — 日本 ${'long '.repeat(60)}\n.\n..\nFrom here: https://x.example/a?b=c&d=e\n`
    await queue(world, { recipient, subject: 'Zugriff für Ümläüte — 日本', text })
    assert.equal(await sendDueMail(world.deps), 1)
    assert.equal(await sendDueMail(world.deps), 0)
    const [{ from, letter } = assert.fail(), ...more] = to(recipient)
    assert.equal(more.length, 0)
    assert.equal(from, 'berth@acme.example')
    assert.equal(letter.headers.get('from')?.join(), 'Berth of Acme <berth@acme.example>')
    assert.equal(letter.headers.get('to')?.join(), recipient)
    assert.equal(letter.headers.get('subject')?.join(), 'Zugriff für Ümläüte — 日本')
    assert.equal(letter.headers.get('auto-submitted')?.join(), 'auto-generated')
    assert.match(letter.headers.get('message-id')!.join(), /^<mail_[0-9A-Za-z]{28}@acme\.example>$/)
    assert.equal(letter.text, text.replace(/\n$/, ''))
    const [row] = await rows(world)
    assert.ok(row!.sent_at !== null && row!.due_at === null && row!.body_text === '')
    assert.equal(world.logged().includes('Dear Grace'), false)
  },
  SMTP,
)

onBothEngines(
  'a letter of a write that was undone is not sent, and others are sent soon after the commit (a bound on time)',
  async (world) => {
    const [undone, told] = [`undone.${world.engine}@example.com`, `told.${world.engine}@example.com`]
    const { deps } = world
    const write = deps.db.write(async (db) => {
      await queueMail({ db, deps, now: deps.clock.now() }, { recipient: undone, subject: 'x', text: 'x' })
      throw new Error('undone')
    })
    await assert.rejects(write, /undone/)
    // The loop looks once a second; a wake-up makes it look sooner.
    const took: number[] = []
    for (let n = 0; n < 4; n++) {
      const from = performance.now()
      await queue(world, { recipient: told })
      await eventually(() => to(told).length > n)
      took.push(performance.now() - from)
    }
    assert.equal(to(told).length, 4)
    assertWithin(Math.min(...took), 400)
    assert.equal(to(undone).length, 0)
  },
  { ...SMTP, BERTH_TIMERS: 'on' },
)

onBothEngines(
  'a letter that the server does not accept now is sent again later, and arrives then',
  async (world) => {
    const recipient = `grey.${world.engine}@example.com`
    const tries: number[] = []
    smtp.refuse = (address) => {
      if (address !== recipient) return undefined
      tries.push(world.deps.clock.now())
      return tries.length < 4 ? 451 : undefined
    }
    await queue(world, { recipient })
    for (let minute = 0; minute < 120 && to(recipient).length === 0; minute++) {
      await sendDueMail(world.deps)
      moveClock(world, MINUTE)
    }
    assert.equal(to(recipient).length, 1)
    const waits = tries.slice(1).map((at, n) => Math.round((at - tries[n]!) / MINUTE))
    assert.deepEqual(waits, [1, 5, 15])
    const [row] = await rows(world)
    assert.deepEqual([row!.attempts, row!.due_at, row!.failed_at, row!.last_error], [4, null, null, null])
  },
  SMTP,
)

onBothEngines(
  'an email waits while the server refuses the sender, which is a setting',
  async (world) => {
    const recipient = `sender.${world.engine}@example.com`
    smtp.refuseSender = () => 553
    await queue(world, { recipient })
    await sendDueMail(world.deps)
    smtp.refuseSender = () => undefined
    assert.equal(to(recipient).length, 0)
    moveClock(world, MINUTE)
    await sendDueMail(world.deps)
    assert.equal(to(recipient).length, 1)
  },
  SMTP,
)

onBothEngines(
  'a letter that the server refuses for good is given up at once, and the log says so without its text (logs an error)',
  async (world) => {
    const recipient = `gone.${world.engine}@example.com`
    let asked = 0
    smtp.refuse = (address) => {
      if (address !== recipient) return undefined
      asked++
      return 550
    }
    await queue(world, { recipient, text: 'canary-of-the-text' })
    await queue(world, { recipient: `next.${world.engine}@example.com` })
    await sendDueMail(world.deps)
    moveClock(world, 80 * 60 * MINUTE)
    await sendDueMail(world.deps)
    assert.equal(asked, 1)
    const [row, next] = await rows(world)
    assert.ok(row!.failed_at !== null && row!.due_at === null && row!.sent_at === null && row!.body_text === '')
    assert.ok(next!.sent_at !== null)
    assert.match(world.logged(), /"level":50.*could not be delivered and is dropped/)
    assert.equal(world.logged().includes('canary-of-the-text'), false)
  },
  SMTP,
)

onBothEngines(
  'while the mail server is down no request waits for it; when it is back, it gets the letter (a bound on time)',
  async (world) => {
    const down = await openSmtp()
    await down.close()
    const there = await openWorld(world.engine, { BERTH_SMTP_URL: down.url, BERTH_MAIL_FROM: 'b@acme.example' })
    try {
      const began = performance.now()
      await queue(there, {})
      assertWithin(performance.now() - began, 2000)
      await sendDueMail(there.deps)
      const again = await openSmtp({ port: down.port })
      there.deps.clock.set(there.deps.clock.now() + 2 * MINUTE)
      await sendDueMail(there.deps)
      assert.deepEqual(
        again.received.map(({ to }) => to),
        [['ada@example.com']],
      )
      await again.close()
    } finally {
      await there.close()
    }
  },
)

onBothEngines('when the mail server is down for three days, the letter is given up (logs an error)', async (world) => {
  const down = await openSmtp()
  await down.close()
  const there = await openWorld(world.engine, { BERTH_SMTP_URL: down.url, BERTH_MAIL_FROM: 'b@acme.example' })
  try {
    await queue(there, {})
    const queued = there.deps.clock.now()
    const row = () => there.deps.db.read.selectFrom('mail').selectAll().executeTakeFirstOrThrow()
    for (let hour = 0; hour < 80 && (await row()).failed_at === null; hour++) {
      await sendDueMail(there.deps)
      there.deps.clock.set(there.deps.clock.now() + 60 * MINUTE)
    }
    const { failed_at, due_at, last_error, attempts } = await row()
    const hours = (failed_at! - queued) / (60 * MINUTE)
    assert.ok(hours > 60 && hours <= 72, `${hours}`)
    assert.equal(due_at, null)
    assert.match(last_error!, /ECONNREFUSED/)
    assert.ok(attempts > 10)
  } finally {
    await there.close()
  }
})

onBothEngines(
  'the login of the mail server is used, is tried again when it fails, and is in no line of the log',
  async (world) => {
    const login = await openSmtp({ login: 'berth:p@ss/word' })
    const url = (password: string) => `smtp://berth:${encodeURIComponent(password)}@127.0.0.1:${login.port}`
    for (const [password, received] of [
      ['wrong-canary', 0],
      ['p@ss/word', 1],
    ] as const) {
      const settings = { BERTH_SMTP_URL: url(password), BERTH_MAIL_FROM: 'b@acme.example' }
      const there = await openWorld(world.engine, settings)
      await queue(there, {})
      await sendDueMail(there.deps)
      assert.equal(login.received.length, received)
      const [row] = await rows(there)
      assert.deepEqual([row!.sent_at !== null, row!.failed_at], [received === 1, null], row!.last_error ?? '')
      for (const line of ['canary', 'p@ss', 'p%40ss']) assert.equal(there.logged().includes(line), false)
      await there.close()
    }
    await login.close()
  },
)

onBothEngines(
  'names that others chose make no header, no second recipient and no command (logs an error)',
  async (world) => {
    const recipient = `victim.${world.engine}@example.com`
    const before = smtp.received.length
    await queue(world, { recipient, subject: 'Hi\r\nBcc: evil@example.com\r\n\r\nbody\u2028x\u202e' })
    const bad = [
      'a@example.com\r\nRCPT TO:<evil@example.com>',
      'a@example.com>\r\nDATA',
      'a@example.com,evil@example.com',
      'evil@example.com a@example.com',
      '"<evil@example.com>" <a@example.com>',
      'a@b@example.com',
      '@example.com',
      'nobody',
      '',
    ]
    for (const address of bad) await queue(world, { recipient: address })
    await sendDueMail(world.deps)
    const [{ letter, to: recipients } = assert.fail(), ...others] = smtp.received.slice(before)
    assert.equal(others.length, 0)
    assert.deepEqual(recipients, [recipient])
    assert.equal(letter.headers.has('bcc'), false)
    assert.equal(letter.headers.get('subject')?.join(), 'Hi Bcc: evil@example.com body x')
    assert.equal(letter.text, 'You there.')
    const failed = (await rows(world)).filter((row) => row.failed_at !== null)
    assert.equal(failed.length, bad.length)
  },
  SMTP,
)

onBothEngines(
  'without a mail server letters are files that only the user of the service can read, and the log says so',
  async (world) => {
    const folder = join(world.folder, 'mail')
    const text = 'Zeile mit Ümlaut\nhttps://x.example/integrations/confirm/icfg_1?a=b'
    await queue(world, { subject: 'Für Ada', text })
    assert.equal(existsSync(folder), false)
    await sendDueMail(world.deps)
    const names = readdirSync(folder)
    assert.equal(names.length, 1)
    assert.match(names[0]!, /^\d{4}-\d\d-\d\dT[\d.-]+Z-mail_\w+\.eml$/)
    assert.equal(statSync(folder).mode & 0o777, 0o700)
    assert.equal(statSync(join(folder, names[0]!)).mode & 0o777, 0o600)
    const letter = readLetter(readFileSync(join(folder, names[0]!), 'utf8'))
    assert.deepEqual(
      ['from', 'to', 'subject'].map((name) => letter.headers.get(name)?.join()),
      ['Berth <berth@localhost>', 'ada@example.com', 'Für Ada'],
    )
    assert.equal(letter.text, text)
    assert.match(world.logged(), /files in .*mail, because BERTH_SMTP_URL is not set/)
    // Sent twice, it is one file.
    await requeueMail(world)
    await sendDueMail(world.deps)
    assert.deepEqual(readdirSync(folder), names)
  },
)

/** A service over an existing store, without its loops. */
function open(folder: string, database: string, lines: string[] = []): Promise<Service> {
  const config = readConfig({ BERTH_DATA: folder, DATABASE_URL: database, BERTH_TIMERS: 'off', ...SMTP })
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  return openService(config, log, (error) => {
    throw error
  })
}

test('two instances on one database send each letter once [postgres]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'))
  const url = await migratedDatabase()
  const lines: string[] = []
  const one = await open(folder, url, lines)
  const two = await open(folder, url, lines)
  const all = Array.from({ length: 60 }, (_, n) => `many${n}@example.com`)
  for (const recipient of all) await queue(one, { recipient })
  const posted = await Promise.all([one, two, one, two].map(({ deps }) => sendDueMail(deps)))
  assert.equal(
    posted.reduce((sum, count) => sum + count),
    all.length,
  )
  for (const recipient of all) assert.equal(to(recipient).length, 1, recipient)
  await one.close()
  await two.close()
  rmSync(folder, { recursive: true })
  assert.deepEqual(lines, [])
})

processOnBothEngines(
  'a letter that was being sent when the process was killed is sent again, with the same id',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const database = home.env.DATABASE_URL!
    const recipient = `killed.${engine}@example.com`
    const first = await open(home.folder, database)
    await queue(first, { recipient })
    await first.close()
    const taken = Promise.withResolvers<void>()
    const hold = Promise.withResolvers<void>()
    smtp.onLetter = async ({ to }) => {
      if (!to.includes(recipient)) return
      taken.resolve()
      await hold.promise
    }
    const running = await startService(t, home, SMTP)
    await taken.promise
    await running.kill('SIGKILL')
    hold.resolve()
    const again = await open(home.folder, database)
    assert.equal(await sendDueMail(again.deps), 0, 'the lease of the instance that died has not ended yet')
    again.deps.clock.set(Date.now() + 6 * MINUTE)
    assert.equal(await sendDueMail(again.deps), 1)
    assert.equal(await sendDueMail(again.deps), 0)
    await again.close()
    const ids = to(recipient).map(({ letter }) => letter.headers.get('message-id')!.join())
    assert.equal(ids.length, 2)
    assert.equal(ids[0], ids[1])
  },
)

onBothEngines(
  'letters that are done are removed 30 days after they were queued, and those that wait are not',
  async (world) => {
    const old = world.deps.clock.now()
    world.deps.clock.set(old - 30 * 1440 * MINUTE - MINUTE)
    await queue(world, { recipient: 'sent@example.com' })
    await queue(world, { recipient: 'waits@example.com' })
    world.deps.clock.set(undefined)
    await queue(world, { recipient: 'young@example.com' })
    for (const name of ['sent', 'young']) await markMailSent(world, `${name}@example.com`)
    const run = () => world.operator('POST', '/operator/v1/timers/old-mail/run', {})
    assert.deepEqual((await run()).body, { swept: 1 })
    assert.deepEqual((await run()).body, { swept: 0 })
    assert.deepEqual(
      (await rows(world)).map((row) => row.recipient),
      ['waits@example.com', 'young@example.com'],
    )
  },
)

test('settings of mail are checked, and a password in them is never repeated', () => {
  const from = { BERTH_MAIL_FROM: 'b@acme.example' }
  const read = (env: Record<string, string>) => readConfig(env).mail
  const bad = ['x', 'http://h', 'smtp://', 'smtp:h', 'smtp://u:hunter2@', 'smtp://u:hunter2@h/path', 'smtp://u:%zz@h']
  for (const BERTH_SMTP_URL of [...bad, 'smtp://u:hunter2@h?tls=no', 'smtp://h:99999']) {
    const named = (error: Error) => /^BERTH_SMTP_URL /.test(error.message) && !error.message.includes('hunter2')
    assert.throws(
      () => read({ ...from, BERTH_SMTP_URL }),
      (error) => error instanceof BadSetting && named(error),
    )
  }
  for (const BERTH_MAIL_FROM of ['x', 'a@b, c@d', 'a@b\r\nBcc: c@d', '<a@b', 'A <a@b> c', 'A\n <a@b>', 'a b@c']) {
    assert.throws(() => read({ BERTH_MAIL_FROM }), /^(BadSetting|Error): BERTH_MAIL_FROM /, BERTH_MAIL_FROM)
  }
  assert.throws(() => read({ BERTH_SMTP_URL: 'smtp://h' }), /BERTH_MAIL_FROM must be set/)
  assert.deepEqual(read({ ...from, BERTH_SMTP_URL: 'smtp://h' }).smtp, {
    ...{ host: 'h', port: 587, secure: false },
    tls: { canEncrypt: true, mustEncrypt: false, mustVerify: false },
  })
  assert.deepEqual(read({ ...from, BERTH_SMTP_URL: 'smtps://u%40x:p%3A@[::1]:2525' }).smtp, {
    ...{ host: '::1', port: 2525, secure: true },
    ...{ user: 'u@x', password: 'p:' },
    tls: { canEncrypt: true, mustEncrypt: true, mustVerify: true },
  })
  const { from: named } = read({ BERTH_MAIL_FROM: 'Berth, of Acme <b@acme.example>' })
  assert.deepEqual(named, { name: 'Berth, of Acme', address: 'b@acme.example' })
})

onBothEngines(
  'the text of a letter that waits is sealed, also when an earlier version wrote it (logs an error)',
  async (world) => {
    const { deps } = world
    const secret = 'https://berth.example.com/password?link=very-secret'
    await deps.db.write((db) =>
      queueMail({ db, deps, now: deps.clock.now() }, { recipient: 'a@example.com', subject: 'new', text: secret }),
    )
    const waiting = () => deps.db.read.selectFrom('mail').selectAll().orderBy('created_stamp').execute()
    const [first] = await waiting()
    const old = { ...first!, id: 'mail_old', subject: 'old', body_text: secret, created_stamp: deps.clock.stamp() }
    await addRows(world, 'mail', [old])
    assert.equal(await textOf(deps, old), secret)
    await sealPendingMail(deps)
    const sealed = await waiting()
    assert.equal(sealed.length, 2)
    for (const row of sealed) {
      assert.doesNotMatch(JSON.stringify(row), /very-secret/)
      assert.equal(await textOf(deps, row), secret)
    }
    // A sealed text that is moved to another letter does not open.
    assert.equal(await textOf(deps, { ...sealed[0]!, id: sealed[1]!.id }), undefined)
    await sealPendingMail(deps)
    assert.deepEqual(await waiting(), sealed, 'a sealed text stays as it is')
  },
)

onBothEngines(
  'a user gets a limited number of letters a day, requested ones not counted, and one a day with the same news of a topic',
  async (world) => {
    const began = world.deps.clock.now()
    const columns = ['recipient', 'subject', 'asked', 'due_at'] as const
    const waiting = () => world.deps.db.read.selectFrom('mail').select(columns).orderBy('created_stamp').execute()
    const DAY = 1440 * MINUTE
    const daysTo = (due_at: number | null) => Math.round((10 * (due_at! - began)) / DAY) / 10
    const due = async () => (await waiting()).map(({ subject, due_at }) => [subject, daysTo(due_at)])
    for (let at = 0; at < 4; at++) await queue(world, { topic: 'scopes oac_1', subject: `told ${at}` })
    // The second is held back, and makes way for the latest.
    assert.deepEqual(await due(), [
      ['told 0', 0],
      ['told 3', 1],
    ])
    await queue(world, { topic: 'scopes oac_1', news: 'more', subject: 'news' })
    assert.deepEqual((await due()).slice(1), [['news', 0]], 'news are sent at once, and say all')
    await queue(world, { topic: 'scopes oac_2' })
    await queue(world, { topic: 'scopes oac_1', recipient: 'bob@example.com' })
    assert.equal((await waiting()).length, 4)
    for (let at = 0; at < 110; at++) await queue(world, { subject: `more ${at}` })
    const adas = (await waiting()).filter(({ recipient }) => recipient === 'ada@example.com')
    const dueIn = (days: number) => adas.filter(({ due_at }) => daysTo(due_at) === days).length
    assert.deepEqual([dueIn(0), dueIn(1), adas.length], [50, 50, 100], 'the rest waits, and no more than 50 do')
    await queue(world, { topic: 'scopes oac_3', subject: 'promised' })
    const promised = (await waiting()).find(({ subject }) => subject === 'promised')
    assert.equal(daysTo(promised!.due_at), 2, 'what has a topic is never dropped')
    await queue(world, { subject: 'asked', asked: 'password' })
    assert.equal((await waiting()).filter(({ subject }) => subject === 'asked').length, 1)
    world.deps.clock.set(began + 3 * DAY + 1000)
    await queue(world, { topic: 'scopes oac_1', subject: 'days later' })
    assert.equal((await due()).find(([subject]) => subject === 'days later')?.[1], 3)
  },
)
