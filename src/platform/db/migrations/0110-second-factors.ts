/** Second factors of people: one-time codes, recovery codes, passkeys, and the sign-ins that wait for one. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('totp')
    .addColumn('user_id', 'text', (c) => c.primaryKey())
    .addColumn('sealed_secret', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('confirmed_at', 'bigint')
    .addColumn('used_step', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema
    .createTable('recovery_code')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('recovery_code_user').on('recovery_code').column('user_id').execute()
  await db.schema
    .createTable('passkey')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull())
    .addColumn('public_key', 'text', (c) => c.notNull())
    .addColumn('counter', 'bigint', (c) => c.notNull())
    .addColumn('transports_json', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('used_at', 'bigint')
    .execute()
  await db.schema.createIndex('passkey_user').on('passkey').columns(['user_id', 'created_at']).execute()
  await db.schema
    .createTable('spent_challenge')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('spent_challenge_expiry').on('spent_challenge').column('expires_at').execute()
  await db.schema
    .createTable('half_sign_in')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('half_sign_in_user').on('half_sign_in').columns(['user_id', 'expires_at']).execute()
  await db.schema.createIndex('half_sign_in_expiry').on('half_sign_in').column('expires_at').execute()
}
