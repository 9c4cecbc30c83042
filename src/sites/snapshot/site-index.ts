/** What a sites server knows of hosts: the same index as the edge's, filled by lines of the snapshot. Pure. */
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
  /** Takes what a line says. Deployments and projects that no name leads to are not kept, so a name stands before what it leads to. */
  apply(line: FactLine): void
  /** All that is known at the moment of the call, in the order in which `apply` takes it. */
  lines(): Iterable<FactLine>
}

/** An empty index. */
export function openSiteIndex(): SiteIndex {
  const hosts = createHostIndex()
  const { facts } = hosts
  const deployments = openUses((id) => hosts.setDeployment(id, undefined))
  const projects = openUses((id) => hosts.setProject(id, undefined))

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
      // Facts are replaced and never changed, so these lists stay as they are while they are written.
      const all = [[...facts.names.values()], [...facts.deployments.values()], [...facts.projects.values()]] as const
      return (function* () {
        for (const name of all[0]) yield nameLine(name)
        for (const deployment of all[1]) yield deploymentLine(deployment)
        for (const project of all[2]) yield projectLine(project)
      })()
    },
  }
}

/** How many names lead to each. Calls `unused` with the id of one that the last of them left. */
function openUses(unused: (id: string) => void) {
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
