/** TABLE Migrations, in the order in which they run. */
import type { Migration } from 'kysely/migration'
import * as start from './migrations/0001-start.ts'
import * as domains from './migrations/0002-domains.ts'
import * as env from './migrations/0003-env.ts'
import * as integrations from './migrations/0004-integrations.ts'
import * as deployments from './migrations/0010-deployments.ts'
import * as links from './migrations/0011-links.ts'
import * as transfer from './migrations/0012-transfer.ts'
import * as edge from './migrations/0013-edge.ts'
import * as makers from './migrations/0014-makers.ts'
import * as environments from './migrations/0015-custom-environments.ts'
import * as members from './migrations/0016-members.ts'
import * as accountDomains from './migrations/0017-account-domains.ts'
import * as auditChain from './migrations/0018-audit-chain.ts'
import * as keptAnswers from './migrations/0019-kept-answers.ts'
import * as growth from './migrations/0020-growth.ts'
import * as edgeStamps from './migrations/0021-edge-stamps.ts'
import * as heldEndpoints from './migrations/0024-held-endpoints.ts'
import * as endedWebhooks from './migrations/0025-ended-webhooks.ts'
import * as mailBudgets from './migrations/0026-mail-budgets.ts'
import * as invitations from './migrations/0028-invitations.ts'
import * as reservedSlugs from './migrations/0029-reserved-slugs.ts'
import * as people from './migrations/0030-people.ts'
import * as deploymentMeta from './migrations/0034-deployment-meta.ts'
import * as repoCase from './migrations/0035-repo-case.ts'
import * as releasedProofs from './migrations/0042-released-proofs.ts'
import * as deliveryTurns from './migrations/0043-delivery-turns.ts'
import * as drainBytes from './migrations/0060-drain-bytes.ts'
import * as domainsOfEnvironments from './migrations/0065-domains-of-environments.ts'
import * as sharedEnv from './migrations/0066-shared-env.ts'
import * as rateLimits from './migrations/0080-rate-limits.ts'
import * as drainSampling from './migrations/0085-drain-sampling.ts'
import * as expiration from './migrations/0086-expiration.ts'
import * as sessions from './migrations/0090-sessions.ts'
import * as sessionPlaces from './migrations/0091-session-places.ts'
import * as emailChange from './migrations/0092-email-change.ts'
import * as storeSize from './migrations/0095-store-size.ts'
import * as edgeNotes from './migrations/0099-edge-notes.ts'
import * as secondFactors from './migrations/0110-second-factors.ts'
import * as factorDemand from './migrations/0111-factor-demand.ts'
import * as identities from './migrations/0115-identities.ts'
import * as backups from './migrations/0140-backups.ts'
import * as keyringCopies from './migrations/0141-keyring-copies.ts'
import * as searchOrder from './migrations/0150-search-order.ts'
import * as offersByToken from './migrations/0161-offers-by-token.ts'
import * as linksByOperator from './migrations/0162-links-by-operator.ts'
import * as uploads from './migrations/0170-uploads.ts'
import * as outputs from './migrations/0171-outputs.ts'
import * as edgeOutputs from './migrations/0173-edge-outputs.ts'
import * as addresses from './migrations/0174-addresses.ts'
import * as siteSessions from './migrations/0175-site-sessions.ts'
import * as usage from './migrations/0176-usage.ts'
import * as namesInOrder from './migrations/0190-names-in-order.ts'
import * as builds from './migrations/0200-builds.ts'
import * as buildOwners from './migrations/0210-build-owners.ts'
import * as runners from './migrations/0211-runners.ts'
import * as cachePurges from './migrations/0213-cache-purges.ts'
import * as frozenEnv from './migrations/0214-frozen-env.ts'
import * as logsAndCrons from './migrations/0216-logs-and-crons.ts'
import * as dataCacheSwitch from './migrations/0218-data-cache-switch.ts'
import * as domainChecks from './migrations/0219-domain-checks.ts'
import * as dataCacheSizes from './migrations/0221-data-cache-sizes.ts'
import * as skewVariable from './migrations/0222-skew-variable.ts'
import * as functionUsage from './migrations/0223-function-usage.ts'
import * as auditProjects from './migrations/0224-audit-projects.ts'

/** A released name never changes. */
export const MIGRATIONS: Record<string, Migration> = {
  '0001-start': start,
  '0002-domains': domains,
  '0003-env': env,
  '0004-integrations': integrations,
  '0010-deployments': deployments,
  '0011-links': links,
  '0012-transfer': transfer,
  '0013-edge': edge,
  '0014-makers': makers,
  '0015-custom-environments': environments,
  '0016-members': members,
  '0017-account-domains': accountDomains,
  '0018-audit-chain': auditChain,
  '0019-kept-answers': keptAnswers,
  '0020-growth': growth,
  '0021-edge-stamps': edgeStamps,
  '0024-held-endpoints': heldEndpoints,
  '0025-ended-webhooks': endedWebhooks,
  '0026-mail-budgets': mailBudgets,
  '0028-invitations': invitations,
  '0029-reserved-slugs': reservedSlugs,
  '0030-people': people,
  '0034-deployment-meta': deploymentMeta,
  '0035-repo-case': repoCase,
  '0042-released-proofs': releasedProofs,
  '0043-delivery-turns': deliveryTurns,
  '0060-drain-bytes': drainBytes,
  '0065-domains-of-environments': domainsOfEnvironments,
  '0066-shared-env': sharedEnv,
  '0080-rate-limits': rateLimits,
  '0085-drain-sampling': drainSampling,
  '0086-expiration': expiration,
  '0090-sessions': sessions,
  '0091-session-places': sessionPlaces,
  '0092-email-change': emailChange,
  '0095-store-size': storeSize,
  '0099-edge-notes': edgeNotes,
  '0110-second-factors': secondFactors,
  '0111-factor-demand': factorDemand,
  '0115-identities': identities,
  '0140-backups': backups,
  '0141-keyring-copies': keyringCopies,
  '0150-search-order': searchOrder,
  '0161-offers-by-token': offersByToken,
  '0162-links-by-operator': linksByOperator,
  '0170-uploads': uploads,
  '0171-outputs': outputs,
  '0173-edge-outputs': edgeOutputs,
  '0174-addresses': addresses,
  '0175-site-sessions': siteSessions,
  '0176-usage': usage,
  '0190-names-in-order': namesInOrder,
  '0200-builds': builds,
  '0210-build-owners': buildOwners,
  '0211-runners': runners,
  '0213-cache-purges': cachePurges,
  '0214-frozen-env': frozenEnv,
  '0216-logs-and-crons': logsAndCrons,
  '0218-data-cache-switch': dataCacheSwitch,
  '0219-domain-checks': domainChecks,
  '0221-data-cache-sizes': dataCacheSizes,
  '0222-skew-variable': skewVariable,
  '0223-function-usage': functionUsage,
  '0224-audit-projects': auditProjects,
}
