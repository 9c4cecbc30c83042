import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { berth } from '../support/clients/command.ts'
import { environmentOf, onEveryCli, programOf } from './cli-world.ts'

// On a laptop: no certificate is set, for 50.44.0 neither, which speaks https alone.
onEveryCli(
  'berth link-cli',
  async ({ works, at, version, folder, app, deps }) => {
    await works('berth link-cli, then whoami', async () => {
      const words = ['link-cli', '--team', 'team', '--global-config', at('linked')]
      const { out, err } = await berth(words, { BERTH_DATA: folder, PORT: new URL(deps.origin()).port })
      const line = /^ {2}(alias vercel=.*)$/m.exec(out)?.[1]
      assert.ok(line, err)
      mkdirSync(at('bin'))
      symlinkSync(programOf(version), at('bin', 'vercel'))
      const secure: string[] = []
      app.server.prependListener('request', ({ socket, method, url }: IncomingMessage) => {
        if ('encrypted' in socket) secure.push(`${method} ${url!.split('?', 1)[0]}`)
      })
      const env = { ...environmentOf(at), PATH: `${at('bin')}:${join(process.execPath, '..')}:${process.env.PATH}` }
      const script = `shopt -s expand_aliases\n${line}\nvercel whoami\n`
      const { stdout } = await promisify(execFile)('bash', ['-c', script], { env, cwd: at('work') })
      assert.equal(stdout.trim(), 'admin')
      assert.ok(secure.includes('GET /v2/user'), secure.join('\n'))
    })
  },
  {},
)
