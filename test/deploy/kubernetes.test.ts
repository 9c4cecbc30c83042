/** The manifests hold to the published schemas of Kubernetes, say no field that these lack, and keep what the pods must not have. docs/deploying.md: Kubernetes. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { PersistentVolumeClaim, Pod, Service } from 'kubernetes-models/v1'
import { parse } from 'yaml'
import { root } from '../support/root.ts'
import { documentsOf, type Json } from './recipes.ts'

const KINDS = { Deployment, StatefulSet, PersistentVolumeClaim, PodDisruptionBudget, Service }
/** Where the types of a kind are. */
const MODULES: Record<string, string> = {
  'apps/v1': 'kubernetes-models/apps/v1',
  'policy/v1': 'kubernetes-models/policy/v1',
  v1: 'kubernetes-models/v1',
}

const files = globSync('deploy/kubernetes/*.yaml', { cwd: root })
const manifests = files.flatMap((file) => documentsOf(file).map((manifest) => ({ file, manifest })))
const workloads = manifests.filter(({ manifest }) => manifest.spec.template !== undefined)

test('each manifest is valid against the published schema of its kind', () => {
  assert.equal(files.length, 2)
  for (const { file, manifest } of manifests) {
    const Kind = KINDS[manifest.kind as keyof typeof KINDS] ?? assert.fail(`${file}: ${manifest.kind}`)
    assert.equal(new Kind().apiVersion, manifest.apiVersion, file)
    // It throws what is wrong.
    new Kind(manifest).validate()
  }
})

test('no manifest says a field that its kind lacks, which the schemas let through', (t) => {
  const right = typesSay(
    t,
    manifests.map(({ manifest }) => manifest),
  )
  assert.equal(right, '')
  const misspelt = structuredClone(workloads[0]!.manifest)
  misspelt.spec.template.spec.enableServiceLink = false
  assert.match(typesSay(t, [misspelt]), /enableServiceLink\W+ does not exist in type 'IPodSpec'/)
})

/** What the type checker says of manifests as literals: a literal may hold no field that its type lacks. Empty: nothing. */
function typesSay(t: TestContext, all: readonly Json[]): string {
  mkdirSync(join(root, '.cache'), { recursive: true })
  // Below the root, so that packages are found.
  const folder = mkdtempSync(join(root, '.cache', 'manifests-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const lines = all.map((manifest, at) => {
    const type = `import('${MODULES[manifest.apiVersion] ?? assert.fail(manifest.apiVersion)}').I${manifest.kind}`
    return `export const manifest${at}: ${type} = ${JSON.stringify(manifest)}\n`
  })
  const file = join(folder, 'manifests.ts')
  writeFileSync(file, lines.join(''))
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--types',
    '',
  ]
  const { stdout, stderr } = spawnSync('tsc', ['--ignoreConfig', ...options, file], { cwd: root, encoding: 'utf8' })
  return stdout + stderr
}

test('each pod is asked, ended and confined as it must be', () => {
  assert.equal(workloads.length, 2)
  for (const { file, manifest } of workloads) {
    const pod = manifest.spec.template.spec
    const [container] = pod.containers
    assert.equal(pod.enableServiceLinks, false, file)
    assert.equal(pod.automountServiceAccountToken, false, file)
    assert.deepEqual([pod.securityContext.runAsNonRoot, pod.securityContext.runAsUser], [true, 65_532], file)
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    assert.equal(container.livenessProbe.httpGet.path, '/healthz', file)
    assert.equal(container.readinessProbe.httpGet.path, '/readyz', file)
    const port = container.env.find(({ name }: { name: string }) => name === 'PORT').value
    assert.equal(container.ports[0].containerPort, Number(port), file)
    // preStop, and the 9 s that a stop takes at the latest, fit in: docs/operations.md: Start and stop.
    const { seconds } = container.lifecycle.preStop.sleep
    assert.ok(seconds >= 2 * container.readinessProbe.periodSeconds, file)
    assert.ok(pod.terminationGracePeriodSeconds > seconds + 9, file)
    const labels = manifest.spec.template.metadata.labels
    assert.deepEqual(manifest.spec.selector.matchLabels, labels, file)
    for (const { manifest: other } of manifests.filter((one) => one.file === file && one.manifest.kind === 'Service'))
      assert.deepEqual(other.spec.selector, labels, file)
  }
})

test('several pods lose one at a time, and one pod with the embedded store has no second', () => {
  const [embedded, postgres] = ['StatefulSet', 'Deployment'].map(
    (kind) => workloads.find(({ manifest }) => manifest.kind === kind)!.manifest,
  )
  assert.equal(embedded.spec.replicas, 1)
  assert.ok(postgres.spec.replicas > 1)
  const budget = manifests.find(({ manifest }) => manifest.kind === 'PodDisruptionBudget')!.manifest
  assert.equal(budget.spec.maxUnavailable, 1)
  assert.deepEqual(budget.spec.selector, postgres.spec.selector)
})

test('pods that share a database see the same uploaded files, on a volume that outlives them', () => {
  const { spec } = workloads.find(({ manifest }) => manifest.kind === 'Deployment')!.manifest
  const [{ env, volumeMounts }] = spec.template.spec.containers
  const place = env.find(({ name }: { name: string }) => name === 'BERTH_FILES_TO').value
  const mount = volumeMounts.find(({ mountPath }: { mountPath: string }) => mountPath === place)
  const volume = spec.template.spec.volumes.find(({ name }: { name: string }) => name === mount.name)
  const claims = manifests.filter(({ manifest }) => manifest.kind === 'PersistentVolumeClaim')
  const [claim] = claims.filter(({ manifest }) => manifest.metadata.name === volume.persistentVolumeClaim.claimName)
  assert.deepEqual(claim!.manifest.spec.accessModes, ['ReadWriteMany'])
})

test('the pod of a restore is valid, and has the user, the image and the volume of the service', (t) => {
  const page = readFileSync(join(root, 'docs/deploying.md'), 'utf8')
  const pod = parse(/^```yaml restore\.yaml\n(.*?)^```$/ms.exec(page)![1]!)
  new Pod(pod).validate()
  assert.equal(typesSay(t, [pod]), '')
  const { metadata, spec } = workloads.find(({ manifest }) => manifest.kind === 'StatefulSet')!.manifest
  const [claim] = spec.volumeClaimTemplates
  const of = spec.template.spec
  assert.deepEqual(
    pod.spec.volumes.map((volume: Json) => volume.persistentVolumeClaim.claimName),
    [`${claim.metadata.name}-${metadata.name}-0`],
  )
  const [ours, theirs] = [pod.spec, of].map(({ securityContext: { runAsUser, fsGroup }, containers: [one] }: Json) => {
    const data = one.volumeMounts.find(({ name }: { name: string }) => name === claim.metadata.name).mountPath
    return [runAsUser, fsGroup, one.image, data]
  })
  assert.deepEqual(ours, theirs)
})
