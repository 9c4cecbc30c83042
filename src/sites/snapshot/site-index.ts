/** Host facts of a sites server: the edge's index, filled by snapshot lines. */
import {
  deploymentFacts,
  deploymentLine,
  type FactLine,
  nameFacts,
  nameLine,
  projectFacts,
  projectLine,
} from '../../delivery/protocol/snapshot.ts'
import type { NameRecord } from '../../platform/verdict/facts.ts'
import { createHostIndex, type HostIndex } from '../../platform/verdict/hosts.ts'

export type SiteIndex = {
  hosts: HostIndex
  /** Applies a line. Deployments and projects without a name are dropped, so a name must precede its target. */
  apply(line: FactLine): void
  /** A consistent list of all facts, in the order that `apply` requires. */
  lines(): Iterable<FactLine>
}

/** Creates an index. */
export function createSiteIndex(): SiteIndex {
  const hosts = createHostIndex()
  const { facts } = hosts
  const deployments = createUses((id) => hosts.setDeployment(id, undefined))
  const projects = createUses((id) => hosts.setProject(id, undefined))

  function setName(name: string, next: NameRecord | undefined): void {
    const before = facts.names.get(name)?.domain
    hosts.setName(name, next)
    deployments.add(next?.domain?.deploymentId)
    projects.add(next?.domain?.projectId)
    deployments.remove(before?.deploymentId)
    projects.remove(before?.projectId)
  }

  return {
    hosts,
    apply(line) {
      switch (line.kind) {
        case 'name':
          return setName(line.name, nameFacts(line))
        case 'deployment':
          return deployments.has(line.id) ? hosts.setDeployment(line.id, deploymentFacts(line)) : undefined
        case 'project':
          return projects.has(line.id) ? hosts.setProject(line.id, projectFacts(line)) : undefined
        case 'gone':
          if (line.of === 'name') return setName(line.id, undefined)
          if (line.of === 'deployment') return hosts.setDeployment(line.id, undefined)
          return hosts.setProject(line.id, undefined)
      }
    },
    lines() {
      // Facts are replaced and never mutated, so these lists stay consistent while they are written.
      const all = [[...facts.names.values()], [...facts.deployments.values()], [...facts.projects.values()]] as const
      return (function* () {
        for (const name of all[0]) yield nameLine(name)
        for (const deployment of all[1]) yield deploymentLine(deployment)
        for (const project of all[2]) yield projectLine(project)
      })()
    },
  }
}

/** Reference counts of names. Calls `unused` with an id when its last name is removed. */
function createUses(unused: (id: string) => void) {
  const counts = new Map<string, number>()
  return {
    has: (id: string) => counts.has(id),
    add(id: string | null | undefined) {
      if (id != null) counts.set(id, (counts.get(id) ?? 0) + 1)
    },
    remove(id: string | null | undefined) {
      if (id == null) return
      const count = counts.get(id)! - 1
      if (count > 0) return void counts.set(id, count)
      counts.delete(id)
      unused(id)
    },
  }
}
