#!/usr/bin/env node
/**
 * Keeps HAProxy's maps as Berth's edge says. Needs Node 20 and nothing else; run it next to HAProxy and let a supervisor
 * start it again. Each map is swapped whole (prepare, add, commit), and written to its file, so that a restart of HAProxy
 * begins with what was last known.
 *
 *   node haproxy-agent.mjs --edge http://127.0.0.1:3001 --socket /run/haproxy/admin.sock --maps /etc/haproxy/berth
 *   BERTH_EDGE_TOKEN in the environment, when the edge has one. --every 500 (milliseconds)
 */
import { renameSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    edge: { type: 'string', default: 'http://127.0.0.1:3001' },
    socket: { type: 'string', default: '/run/haproxy/admin.sock' },
    maps: { type: 'string', default: '/etc/haproxy/berth' },
    every: { type: 'string', default: '500' },
  },
})
const headers = process.env.BERTH_EDGE_TOKEN ? { authorization: `Bearer ${process.env.BERTH_EDGE_TOKEN}` } : {}
/** Where a host leads comes before that it leads there. */
const MAPS = ['hosts', 'redirects', 'state']
/** HAProxy takes a command of at most 16 KiB (tune.bufsize). */
const COMMAND_BYTES = 12_000
const tags = new Map()
let pid = ''
let trouble = ''

for (;;) {
  try {
    await follow()
    if (trouble !== '') console.log('in step again')
    trouble = ''
  } catch (error) {
    if (error.message !== trouble) console.error(`not in step: ${error.message}`)
    trouble = error.message
  }
  await sleep(Number(values.every))
}

/** A restarted HAProxy has read older files, so it gets everything again. */
async function follow() {
  const running = /^Pid: (\d+)$/m.exec(await tell('show info'))?.[1]
  if (running !== pid) tags.clear()
  pid = running
  for (const map of MAPS) {
    const url = `${values.edge}/edge/v1/snapshot?format=haproxy&map=${map}`
    const known = tags.get(map)
    const answer = await fetch(url, {
      headers: { ...headers, ...(known && { 'if-none-match': known }) },
      signal: AbortSignal.timeout(10_000),
    })
    if (answer.status === 304) continue
    if (answer.status !== 200) throw new Error(`the edge answered ${answer.status}: ${await answer.text()}`)
    const text = await answer.text()
    await swap(join(values.maps, `${map}.map`), text)
    tags.set(map, answer.headers.get('etag'))
  }
}

async function swap(file, text) {
  const version = /New version created: (\d+)/.exec(await tell(`prepare map ${file}`))?.[1]
  if (version === undefined) throw new Error(`HAProxy has no map ${file}`)
  for (const lines of chunks(text)) await tell(`add map @${version} ${file} <<\n${lines}\n`)
  const said = (await tell(`commit map @${version} ${file}`)).trim()
  if (said !== '') throw new Error(said)
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

function* chunks(text) {
  let chunk = ''
  for (const line of text.split('\n')) {
    if (line === '') continue
    if (chunk.length + line.length >= COMMAND_BYTES) {
      yield chunk
      chunk = ''
    }
    chunk += `${line}\n`
  }
  if (chunk !== '') yield chunk
}

/** One command to HAProxy's socket; what it answers. */
function tell(command) {
  return new Promise((resolve, reject) => {
    const socket = connect(values.socket)
    let said = ''
    socket.setEncoding('utf8').setTimeout(5000, () => socket.destroy(new Error('HAProxy did not answer')))
    socket.on('error', reject)
    socket.on('data', (text) => {
      said += text
    })
    socket.on('end', () => resolve(said))
    socket.end(`${command}\n`)
  })
}
