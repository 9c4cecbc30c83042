/**
 * The folders of static builds of vercel/vercel at 17d9ebaf8e, by their names: those that the newest CLI builds on a machine with Node.js 26 and npm alone, and why
 * the others are left out. A folder that is in neither table fails the test.
 */

/** TABLE what is built, by the framework that its project is set to. null: none, by what the folder itself says. */
export const BUILT: Readonly<Record<string, string | null>> = {
  '01-cowsay': null,
  '03-env-vars': null,
  '04a-correct-dist-dir': null,
  '08-hundreds': null,
  '09-cowsay-build': null,
  '24-choose-public': null,
  '43-build-command': null,
  '44-custom-output-dir': null,
  '60-timezone-utc': null,
  '64-custom-install-command': null,
  '70-vercel-env-gatsby': null,
  '71-vercel-env-nuxt': null,
  '72-vercel-env-create-react-app': null,
  '73-vercel-env-vue': null,
  'vite-v4': 'vite',
  'vite-v5': 'vite',
  'parcel-v2': 'parcel',
  vitepress: 'vitepress',
  'eleventy-2': 'eleventy',
  'hexo-v6': 'hexo',
  'svelte-v4': 'svelte',
  'vue-v3': 'vite',
  'astro-v4': 'astro',
}

/** TABLE probes that fail, by what they ask, with the reason. */
export const FAILING_PROBES: Readonly<Record<string, string>> = {}

const REFUSED = 'is there to be refused by the builder, and has no probe'
const OLD = 'its framework is of a Node.js that is no longer supported; upstream passes it over, too'
const RUBY = 'needs Ruby'
const PYTHON = 'needs packages of Python that the build image has'
const PROGRAM = 'needs a program that the build image has: Hugo or Zola'
const CODE = 'its probe is a program and no table'
const NODE = 'needs another package manager, or a Node.js that is installed separately'
const FUNCTION = 'becomes functions, which are off in this test'
const UNTRIED = 'not tried: minutes of installation for one probe or three of the same kinds'

/** TABLE what is not built, and why. */
export const NOT_BUILT: Readonly<Record<string, string>> = {
  ...all(
    REFUSED,
    '04-wrong-dist-dir 04b-wrong-dist-dir-with-vercel-json 05-empty-dist-dir 06-missing-script 07-nonzero-sh',
    '22-docusaurus-2-build-fail 36-hugo-version-not-found',
  ),
  ...all(
    OLD,
    '02-cowsay-sh 12-create-react-app 26-ejected-cra 47-nuxt-with-custom-output 48-nuxt-without-framework',
    'angular-v8 angular-v8-configured ember-v3 gatsby-v2 sapper-v0 vue-v2',
  ),
  ...all(RUBY, '35-bundle-without 53-native-gems jekyll-v3 jekyll-v4 middleman-v4'),
  ...all(PYTHON, '40-pelican 41-mkdocs'),
  ...all(PROGRAM, '33-hugo-zola-versions 34-hugo-old-version hugo-v0 zola-v0'),
  ...all(CODE, '51-puppeteer-build 55-ignore-output'),
  ...all(NODE, '75-pnpm7-custom-commands gatsby-v4-pnpm'),
  ...all(FUNCTION, '45-node-modules-bin-path blitz-v2 gatsby-v4 gatsby-v5 gatsby-v5-pathPrefix hydrogen-v2023 nuxt-v3'),
  ...all(
    UNTRIED,
    '21-docusaurus-with-framework angular-v16 angular-v17 astro-v2 astro-v3 docusaurus-v1 docusaurus-v2 eleventy-v0',
    'ember-v5 gatsby-v3 hexo-v5 ionic-angular-v8 ionic-react-v7 polymer-v3 preact-v10 preact-v2 scully-v2',
    'stencil-v1 stencil-v4 storybook-v7 svelte-v3 umi-v4',
  ),
}

function all(why: string, ...names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((line) => line.split(' ')).map((name) => [name, why]))
}
