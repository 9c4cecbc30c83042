/** Resolves one host from the database, for callers without the host index. platform/verdict/hosts.ts decides. */
import type { Queries } from '../../platform/db/db.ts'
import { closestWildcards, createHostIndex, type HostEntry } from '../../platform/verdict/hosts.ts'
import { readDeployments, readNames, readOwnUrl, readProjects } from './hosts.ts'

/** Returns the target of a host like the edge. `host`: lower case, without a port. */
export async function findHost(db: Queries, host: string): Promise<HostEntry> {
  const hosts = createHostIndex()
  for (const facts of await readNames(db, [host, ...closestWildcards(host)])) hosts.setName(facts.name, facts)
  for (const facts of await readOwnUrl(db, host)) hosts.setDeployment(facts.id, facts)
  const { deployments } = hosts.missing()
  if (deployments.length > 0)
    for (const facts of await readDeployments(db, deployments)) hosts.setDeployment(facts.id, facts)
  const { projects } = hosts.missing()
  if (projects.length > 0) for (const facts of await readProjects(db, projects)) hosts.setProject(facts.id, facts)
  return hosts.find(host)
}
