{{/* The config maps with settings that the manifests make: name, and the file behind each key. */}}
{{- define "pinledger.settingsMaps" -}}
{{- $root := . }}
{{- $maps := list }}
{{- range $part := include "pinledger.parts" . | fromJsonArray }}
{{- range $map := (printf "manifests/%s/kustomization.yaml" $part | $root.Files.Get | fromYaml).configMapGenerator }}
{{- $files := dict }}
{{- range $entry := $map.files }}
{{- $_ := set $files (splitList "=" $entry | first) (printf "manifests/%s/%s" $part (splitList "=" $entry | last)) }}
{{- end }}
{{- $maps = append $maps (dict "name" $map.name "files" $files) }}
{{- end }}
{{- end }}
{{- toJson $maps }}
{{- end }}

{{/* The name of a config map with settings, which has the checksum of its files: a list of the root and the map. Pods keep the settings with which
they were made: a pod of an earlier template that starts again in the middle of an upgrade, or after a refused one, finds its own. */}}
{{- define "pinledger.settingsName" -}}
{{- $root := index . 0 }}
{{- $map := index . 1 }}
{{- $texts := list }}
{{- range $name, $_ := $map.files }}
{{- $texts = append $texts (include "pinledger.settings" (list $root $name)) }}
{{- end }}
{{- printf "%s-%s" $map.name (toJson $texts | sha256sum | trunc 10) }}
{{- end }}

{{/* A file of settings, those of the values added: a list of the root and the file's name, such as server.yaml. */}}
{{- define "pinledger.settings" -}}
{{- $root := index . 0 }}
{{- $name := index . 1 }}
{{- $settings := dict }}
{{- range $map := include "pinledger.settingsMaps" $root | fromJsonArray }}
{{- with index $map.files $name }}
{{- $settings = $root.Files.Get . | fromYaml }}
{{- end }}
{{- end }}
{{- $section := printf "%ss" (trimSuffix ".yaml" $name) }}
{{- $given := index $root.Values $section }}
{{- include "pinledger.put" (list $settings "" $given.settings) }}
{{- if and (eq $section "servers") $root.Values.kek.nextExistingSecret }}
{{- $_ := set $settings "next_kek_file" (printf "%s/next-kek" (dir $settings.kek_file)) }}
{{- end }}
{{- toYaml $settings }}
{{- end }}
