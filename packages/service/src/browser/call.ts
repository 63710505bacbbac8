import type { HolderKey } from './holder-key.ts'
import type { PageTexts, Words } from './page.ts'
import { credentialHeader, proofFields } from './sign-request.ts'

export interface Call {
  readonly path: string
  readonly body: object
  /** Signs the request as the holder of this key. */
  readonly key?: HolderKey | undefined
  /** Goes into X-Service-Credential. */
  readonly credential?: object
}

/** An answer, or the words for a person why there is none, with the code of the refusal. */
export type Answered = { readonly answer: Record<string, unknown> } | { readonly refusal: Words; readonly code: string | undefined }

/** Calls the service as this page. Throws nothing: whatever happens has words. */
export async function call(
  { path, body, key, credential }: Call,
  texts: Pick<PageTexts<'wallet'>, 'common' | 'problems'>,
): Promise<Answered> {
  const { common, problems } = texts
  try {
    const text = JSON.stringify(body)
    const url = new URL(path, location.origin)
    const header = credential && credentialHeader(credential)
    const shown = header === undefined ? {} : { credential: header }
    const proof = key === undefined ? {} : await proofFields({ method: 'POST', url, body: text, ...shown }, key, Date.now())
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(header === undefined ? {} : { 'x-service-credential': header }),
        ...proof,
      },
      body: text,
      credentials: 'same-origin',
      redirect: 'error',
    })
    const answer = (await response.json()) as Record<string, unknown>
    if (response.ok) return { answer }
    const code = String(answer.code)
    return { code, refusal: problems[code] ?? { title: String(answer.title), next: String(answer.detail) } }
  } catch {
    return { code: undefined, refusal: { title: common.noAnswer, next: common.noAnswerNext } }
  }
}
