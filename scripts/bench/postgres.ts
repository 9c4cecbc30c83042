/** A PostgreSQL of the bench's own, with its durability on, thrown away afterwards. */
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres as startOne } from '../../test/support/postgres.ts'

export type OwnPostgres = { newDatabase: () => Promise<string>; stop: () => Promise<void> }

export async function startPostgres(folder: string): Promise<OwnPostgres> {
  const home = join(folder, 'postgres')
  mkdirSync(home)
  // The user of PostgreSQL must have access to it.
  chmodSync(folder, 0o755)
  const settings = ['max_connections=200', 'shared_buffers=512MB', 'max_wal_size=4GB']
  const { server, url: origin } = await startOne(home, settings)
  let made = 0
  return {
    async newDatabase() {
      const name = `bench${++made}`
      const client = new pg.Client({ connectionString: `${origin}/postgres` })
      await client.connect()
      await client.query(`create database ${name}`)
      await client.end()
      return `${origin}/${name}`
    },
    stop: () => server.stop(),
  }
}
