import { type Kysely, sql } from 'kysely'

/** Names of repositories do not differ by case alone at any provider: what projects are filtered by is lower case from here on. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`update project set repo = lower(repo), repo_url = lower(repo_url) where repo is not null`.execute(db)
}
