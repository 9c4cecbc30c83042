import { type Kysely, sql } from 'kysely'

/** Part of 0004: what leaves for webhooks and log drains, and how every attempt ended. */
export async function createDeliveries(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('delivery')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('endpoint_id', 'text', (c) => c.notNull())
    .addColumn('configuration_id', 'text')
    .addColumn('event_stamp', 'bigint')
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('body', 'text')
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('due_at', 'bigint')
    .addColumn('held_at', 'bigint')
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('created_stamp', 'bigint', (c) => c.notNull())
    .addColumn('done_at', 'bigint')
    .execute()
  await db.schema.createIndex('delivery_stamp').unique().on('delivery').column('created_stamp').execute()
  await createDeliveryQueues(db)
  await db.schema.createIndex('delivery_endpoint').on('delivery').columns(['endpoint_id', 'created_stamp']).execute()
  await db.schema.createIndex('delivery_configuration').on('delivery').column('configuration_id').execute()
  await db.schema
    .createTable('delivery_attempt')
    .addColumn('delivery_id', 'text', (c) => c.notNull())
    .addColumn('attempt', 'integer', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('status_code', 'integer')
    .addColumn('duration_ms', 'integer', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('response', 'text')
    .addPrimaryKeyConstraint('delivery_attempt_pk', ['delivery_id', 'attempt'])
    .execute()
}

/** What is due, by endpoint: one that is slow hides nobody else's. What is held, by installation. Both hold open deliveries only. */
async function createDeliveryQueues(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('delivery_due')
    .on('delivery')
    .columns(['endpoint_id', 'due_at'])
    .where(sql.ref('due_at'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('delivery_held')
    .on('delivery')
    .columns(['configuration_id', 'endpoint_id', 'created_stamp'])
    .where(sql.ref('held_at'), 'is not', null)
    .execute()
  await db.schema.createIndex('delivery_event').on('delivery').column('event_stamp').execute()
}
