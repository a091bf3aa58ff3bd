{{/* The names of secrets and config maps: those of the manifests, and those of the values and of the chart's settings. */}}
{{- define "pinledger.names" -}}
pinledger-database: {{ toJson .Values.database.existingSecret }}
pinledger-database-owner: {{ toJson .Values.database.ownerExistingSecret }}
pinledger-kek: {{ toJson .Values.kek.existingSecret }}
pinledger-tls: {{ toJson .Values.tls.existingSecret }}
pinledger-batch-key: {{ toJson .Values.batchKey.existingConfigMap }}
pinledger-checkpoint: {{ toJson .Values.checkpoint.existingConfigMap }}
pinledger-upstream: {{ toJson .Values.upstream.existingSecret }}
pinledger-trusted-keys: {{ toJson .Values.trustedKeys.existingConfigMap }}
{{- $root := . }}
{{- range $map := include "pinledger.settingsMaps" . | fromJsonArray }}
{{ $map.name }}: {{ include "pinledger.settingsName" (list $root $map) }}
{{- end }}
{{- end }}

{{/* Renames what a reference names: a list of the root, the reference and its key. Other names stay. */}}
{{- define "pinledger.rename" -}}
{{- $reference := index . 1 }}
{{- $key := index . 2 }}
{{- $name := index $reference $key }}
{{- $_ := set $reference $key (index (include "pinledger.names" (index . 0) | fromYaml) $name | default $name) }}
{{- end }}

{{- define "pinledger.image" -}}
{{- $image := .Values.image }}
{{- $name := empty $image.registry | ternary $image.repository (printf "%s/%s" $image.registry $image.repository) }}
{{- if $image.digest }}
{{- printf "%s@%s" $name $image.digest }}
{{- else }}
{{- printf "%s:%s" $name (default .Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{/* Puts the values into a template of pods: a list of the root, the values for it, and the template. */}}
{{- define "pinledger.pod" -}}
{{- $root := index . 0 }}
{{- $section := index . 1 }}
{{- $metadata := (index . 2).metadata }}
{{- $spec := (index . 2).spec }}
{{- include "pinledger.put" (list $metadata "annotations" $section.annotations) }}
{{- include "pinledger.put" (list $metadata "labels" (merge (dict) $metadata.labels ($section.labels | default dict))) }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with index $section $key }}
{{- $_ := set $spec $key . }}
{{- end }}
{{- end }}
{{- with $root.Values.image.pullSecrets }}
{{- $names := list }}
{{- range $name := . }}
{{- $names = append $names (dict "name" $name) }}
{{- end }}
{{- $_ := set $spec "imagePullSecrets" $names }}
{{- end }}
{{- if $section.clusterAssignsUser }}
{{- $_ := set $spec "securityContext" (omit $spec.securityContext "runAsUser" "runAsGroup" "fsGroup") }}
{{- end }}
{{- if $section.spread }}
{{- include "pinledger.spread" (list $section.spread $spec) }}
{{- end }}
{{- range $container := $spec.containers }}
{{- $_ := set $container "image" (include "pinledger.image" $root) }}
{{- with $root.Values.image.pullPolicy }}
{{- $_ := set $container "imagePullPolicy" . }}
{{- end }}
{{- $_ := set $container "resources" $section.resources }}
{{- include "pinledger.put" (list $container "startupProbe" $section.startupProbe) }}
{{- range $variable := $container.env }}
{{- range $reference := $variable.valueFrom }}
{{- include "pinledger.rename" (list $root $reference "name") }}
{{- end }}
{{- end }}
{{- $_ := set $container "volumeMounts" (concat $container.volumeMounts ($section.volumeMounts | default list)) }}
{{- range $word := $container.args }}
{{- if hasPrefix "/etc/pinledger/" $word }}
{{- $settings := include "pinledger.settings" (list $root (base $word)) }}
{{- $drain := $settings | fromYaml }}
{{- /* A pod that is told to stop has the time that its settings give to requests, and more for the rest. */}}
{{- $needed := add ($drain.drain_delay | default 0) ($drain.drain_timeout | default 0) 60 }}
{{- $_ := set $spec "terminationGracePeriodSeconds" (max $needed $spec.terminationGracePeriodSeconds) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $volume := $spec.volumes }}
{{- include "pinledger.volume" (list $root $volume) }}
{{- end }}
{{- $_ := set $spec "volumes" (concat $spec.volumes ($section.volumes | default list)) }}
{{- end }}

{{/* Spreads pods over machines and zones: a list of the values and the pods' spec. */}}
{{- define "pinledger.spread" -}}
{{- $given := index . 0 }}
{{- $spec := index . 1 }}
{{- $kept := list }}
{{- range $constraint := $spec.topologySpreadConstraints }}
{{- $wanted := hasSuffix "/zone" $constraint.topologyKey | ternary $given.zones $given.machines }}
{{- if ne $wanted "none" }}
{{- $_ := set $constraint "whenUnsatisfiable" (eq $wanted "required" | ternary "DoNotSchedule" "ScheduleAnyway") }}
{{- $kept = append $kept $constraint }}
{{- end }}
{{- end }}
{{- $_ := set $spec "topologySpreadConstraints" $kept }}
{{- end }}

{{/* Renames what a volume holds, and adds the next key-encryption key while there is one: a list of the root and the volume. */}}
{{- define "pinledger.volume" -}}
{{- $root := index . 0 }}
{{- $volume := index . 1 }}
{{- if $volume.secret }}
{{- include "pinledger.rename" (list $root $volume.secret "secretName") }}
{{- else if $volume.configMap }}
{{- include "pinledger.rename" (list $root $volume.configMap "name") }}
{{- end }}
{{- $next := $root.Values.kek.nextExistingSecret }}
{{- if and $next (eq $volume.name "kek") }}
{{- $present := dict "name" $volume.secret.secretName "items" (list (dict "key" "kek" "path" "kek")) }}
{{- $following := dict "name" $next "items" (list (dict "key" "kek" "path" "next-kek")) }}
{{- $sources := list (dict "secret" $present) (dict "secret" $following) }}
{{- $_ := set $volume "projected" (dict "defaultMode" $volume.secret.defaultMode "sources" $sources) }}
{{- $_ := unset $volume "secret" }}
{{- end }}
{{- end }}
