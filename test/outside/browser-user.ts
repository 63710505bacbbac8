/** A user with a browser that keeps cookies, follows redirects and sends the forms it is shown. */
export interface BrowserUser {
  readonly name: string
  /**
   * Opens the address that a client sends the user to, signs in and consents. Resolves to the
   * address that the provider sends the user back to.
   */
  authorize(url: string | URL): Promise<URL>
  /** Signs out at the provider. */
  signOut(issuer: string): Promise<void>
}

const STEPS_MAX = 20

export function createBrowserUser(name: string): BrowserUser {
  const cookies = new Map<string, string>()
  const open = async (url: URL, form?: Record<string, string>): Promise<Response> => {
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([key, value]) => `${key}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, key = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      // A cookie without a value is deleted. Paths do not matter: one provider sets all of them.
      if (value === '') cookies.delete(key)
      else cookies.set(key, value)
    }
    return answer
  }

  return {
    name,
    async authorize(start) {
      let url = new URL(start)
      let answer = await open(url)
      for (let step = 0; step < STEPS_MAX; step++) {
        const location = answer.headers.get('location')
        if (location !== null) {
          const next = new URL(location, url)
          if (next.origin !== url.origin) return next
          url = next
          answer = await open(url)
        } else {
          const { action, prompt } = findForm(await answer.text())
          if (prompt === undefined) throw new Error(`${url} shows no form, with ${answer.status}`)
          url = new URL(action, url)
          answer = await open(url, { prompt, login: name, password: 'any' })
        }
      }
      throw new Error(`the provider does not come to an end at ${url}`)
    },
    async signOut(issuer) {
      const page = await (await open(new URL(`${issuer}/session/end`))).text()
      const { action, xsrf } = findForm(page)
      if (xsrf === undefined) throw new Error(`the provider shows no form: ${page}`)
      const { status } = await open(new URL(action, issuer), { xsrf, logout: 'yes' })
      if (status >= 400) throw new Error(`the provider answered the logout with ${status}`)
    },
  }
}

/** The form of a page, and the values of its hidden fields. */
function findForm(page: string): {
  readonly action: string
  readonly prompt?: string
  readonly xsrf?: string
} {
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  const [, action = ''] = /<form[^>]* action="([^"]+)"/.exec(page) ?? []
  return { action, ...Object.fromEntries(hidden.map(([, key, value]) => [key, value])) }
}
