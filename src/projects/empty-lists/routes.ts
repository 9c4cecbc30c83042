/** Empty lists of features that Berth does not have: clients read them and stop at a 404. docs/clients.md. */

import type { Ctx, Params } from '../../context.ts'
import { apexOf, nameToFind } from '../../model/domain-name.ts'
import { route } from '../../platform/http/route.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Pagination } from '../../platform/schema/fields.ts'
import { readApex } from '../account-domains/list.ts'

const Nothing = Type.Array(Type.Object({}), { maxItems: 0 })
const NO_PAGES = { count: 0, next: null, prev: null }
const NO_ROWS = { rows: 1, rowBytes: 256 }

const Name = Type.Optional(Type.String({ maxLength: 300, description: 'has no effect: the list is empty' }))
const Cursor = Type.Optional(Type.String({ maxLength: 100, description: 'has no effect: the list is empty' }))
const pages = { limit: Cursor, since: Cursor, until: Cursor }

export const emptyListRoutes = [
  route({
    method: 'GET',
    path: '/v8/certs',
    operationId: 'getCerts',
    summary: 'List certificates: always none, the proxy in front of the edge has them',
    tag: 'domains',
    needs: ['domain:read'],
    query: Type.Object({ ...pages, domain: Name, cn: Name, custom: Name }),
    run: () => ({ certs: [], pagination: NO_PAGES }),
    list: NO_ROWS,
    status: 200,
    reply: Type.Object({ certs: Nothing, pagination: Pagination }),
  }),
  route({
    method: 'GET',
    path: '/v5/domains/:domain/records',
    operationId: 'getRecords',
    summary: 'List the DNS records of a domain of the account: always none, DNS is kept elsewhere',
    tag: 'domains',
    needs: ['domain:read'],
    query: Type.Object(pages),
    load: findApex,
    run: () => ({ records: [], pagination: NO_PAGES }),
    refuses: ['not_found'],
    list: NO_ROWS,
    status: 200,
    reply: Type.Object({ records: Nothing, pagination: Pagination }),
  }),
  route({
    method: 'GET',
    path: '/v1/storage/stores',
    operationId: 'getStorageStores',
    summary: 'List storage: always none, Berth provides no databases',
    tag: 'projects',
    needs: ['project:read'],
    query: Type.Object({ ...pages, projectId: Name, integrationConfigurationId: Name, 'skip-metadata': Name }),
    run: () => ({ stores: [] }),
    list: NO_ROWS,
    status: 200,
    reply: Type.Object({ stores: Nothing }),
  }),
]

/** Checks that a name is under a domain of the account. Refuses: not_found 404. */
async function findApex(ctx: Ctx, { domain = '' }: Params): Promise<undefined> {
  const apex = apexOf(nameToFind(domain, ctx.deps.config.domains))
  if ((await readApex(ctx, apex)) === undefined) refuse('not_found', `The account has no domain "${apex}".`)
}
