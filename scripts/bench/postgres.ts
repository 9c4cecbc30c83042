/** A PostgreSQL of the bench's own, with its durability on, thrown away afterwards. */
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { freePort, loadPostgres } from '../../test/postgres.ts'

export type OwnPostgres = { newDatabase: () => Promise<string>; stop: () => Promise<void> }

export async function startPostgres(folder: string): Promise<OwnPostgres> {
  const home = join(folder, 'postgres')
  mkdirSync(home)
  // As root, PostgreSQL runs as a user of its own, who must get in.
  for (const path of [folder, home]) chmodSync(path, 0o755)
  const port = await freePort()
  const Postgres = await loadPostgres()
  const server = new Postgres({
    databaseDir: join(home, 'data'),
    user: 'berth',
    password: 'berth',
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'max_connections=200', '-c', 'shared_buffers=512MB', '-c', 'max_wal_size=4GB'],
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  await server.start()
  const origin = `postgres://berth:berth@127.0.0.1:${port}`
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
